/* SPDX-License-Identifier: MIT */
/*
 * Where a new goroutine begins: frame_switch has set rsp to a 16-aligned top
 * of stack, rbp to 0 and left the frame in rsi. The unwinder is told that
 * there is no caller.
 */
	.text
	.globl	frame_entry
	.hidden	frame_entry
	.type	frame_entry, @function
frame_entry:
	.cfi_startproc
	.cfi_undefined rip
	movq	%rsi, %rdi
	call	goroutine_main
	ud2				/* it never returns */
	.cfi_endproc
	.size	frame_entry, . - frame_entry
	.section .note.GNU-stack, "", @progbits
