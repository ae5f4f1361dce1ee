/* SPDX-License-Identifier: MIT */
/*
 * Where a preempted goroutine arrives from the signal handler: rsp is the kept
 * frame, 16-aligned, as is rdi; rsi is the function to call; rbp is 0. The
 * unwinder is told that there is no caller.
 */
	.text
	.globl	preempt_return
	.hidden	preempt_return
	.type	preempt_return, @function
preempt_return:
	.cfi_startproc
	.cfi_undefined rip
	call	*%rsi
	ud2				/* it never returns */
	.cfi_endproc
	.size	preempt_return, . - preempt_return
	.section .note.GNU-stack, "", @progbits
