/* SPDX-License-Identifier: MIT */
/*
 * Where a new goroutine begins: frame_switch has set rsp to a 16-aligned top
 * of stack, rbp to 0 and left the frame in rsi. The unwinder is told that
 * there is no caller. The registers that goroutine_main saves are cleared:
 * else its frame would hold, until it ends, what they had of the previous
 * goroutine, maybe pointers to its thread (preempt.c, point 5).
 */
	.text
	.globl	frame_entry
	.hidden	frame_entry
	.type	frame_entry, @function
frame_entry:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebx, %ebx
	xorl	%r12d, %r12d
	xorl	%r13d, %r13d
	xorl	%r14d, %r14d
	xorl	%r15d, %r15d
	movq	%rsi, %rdi
	call	goroutine_main
	ud2				/* it never returns */
	.cfi_endproc
	.globl	frame_entry_end
	.hidden	frame_entry_end
frame_entry_end:
	.size	frame_entry, . - frame_entry
	.section .note.GNU-stack, "", @progbits
