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

/*
 * Never executed. Debuggers recognise a signal frame by the code that its
 * handler returns to, which has these instructions and this name: gdb's script
 * makes it the caller of preempt_return, and so they go on in the kept frame.
 * The nop: they look a return address up one byte before it.
 */
	nop
	.type	__restore_rt, %function
__restore_rt:
	mov	x8, #139		/* rt_sigreturn */
	svc	#0
	.size	__restore_rt, . - __restore_rt
	.section .note.GNU-stack, "", %progbits
