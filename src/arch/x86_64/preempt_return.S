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

/*
 * Never executed. Debuggers recognise a signal frame by the code that its
 * handler returns to, which has these instructions and this name: gdb's script
 * makes it the caller of preempt_return, and so they go on in the kept frame.
 * The nop: they look a return address up one byte before it.
 */
	nop
	.type	__restore_rt, @function
__restore_rt:
	movq	$15, %rax		/* rt_sigreturn */
	syscall
	.size	__restore_rt, . - __restore_rt
	.section .note.GNU-stack, "", @progbits
