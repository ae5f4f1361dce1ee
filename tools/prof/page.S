/* SPDX-License-Identifier: MIT */
/* The page of weft-prof view. */
	.section .rodata
	.globl	prof_page, prof_page_end
prof_page:
	.incbin "flame.html"
prof_page_end:
	.section .note.GNU-stack, "", %progbits
