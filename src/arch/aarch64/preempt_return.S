/* SPDX-License-Identifier: MIT */
/*
 * Where a preempted goroutine arrives from the signal handler: sp is the kept
 * frame, 16-aligned, as is x0; x1 is the function to call; x29 and x30 are 0.
 * The unwinder is told that there is no caller.
 */
	.text
	.globl	preempt_return
	.hidden	preempt_return
	.type	preempt_return, %function
preempt_return:
	.cfi_startproc
	.cfi_undefined x30
	blr	x1
	brk	#1			/* it never returns */
	.cfi_endproc
	.size	preempt_return, . - preempt_return
	.section .note.GNU-stack, "", %progbits
