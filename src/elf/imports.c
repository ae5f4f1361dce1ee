/* SPDX-License-Identifier: MIT */
/*
 * The reviewed names: what may be called by a goroutine that is preempted
 * before or after the call and resumed on another thread. libc's own code is
 * never preempted, so what a function does within a call does not matter, nor
 * does what it keeps in the thread for itself (malloc's caches, the resolver).
 * What matters is what the program still has of the thread after the call. So
 * the names are of these classes:
 *
 *   process	works on its arguments, on memory of the process or on what the
 *		kernel keeps for the process; returns values, or pointers into
 *		such memory. Static memory (localtime, strtok, getpwnam) is as
 *		safe or unsafe as with threads.
 *   errno	sets errno, which a goroutine takes along.
 *   hidden	leaves something in the thread that only functions return which
 *		are not here: h_errno of gethostbyname.
 *   frame	calls back (qsort): the callback has a frame of libc among its
 *		callers and is not preempted.
 *   register	changes what the kernel saves in a signal frame: the modes of
 *		the floating-point unit.
 *   checked	changes or returns what belongs to the thread, which the
 *		handler notices and then does not preempt: the signal mask,
 *		ctype's tables, errno's address as weft.h has it. (See points 2
 *		and 5 in preempt/preempt.c. A pointer is noticed in registers
 *		and on the stack and nowhere else, so this class has only those
 *		that programs do not store.)
 *   all	per thread for the kernel, but libc sets it for all: setuid.
 *   snapshot	a result that may be out of date when it arrives, with threads
 *		too: sched_getcpu.
 *   other	concerns another thread, by its handle: pthread_join. (Only
 *		pthread_self returns a thread's own.)
 *
 * What is not here is refused. Most of it has an explanation (refusals.c); the
 * rest has not been reviewed. Before adding a name, consider that the next
 * call may be made by another thread, and where pointers are stored.
 *
 * Each theme is one sorted text of names with a blank before and after each,
 * which takes no relocations when a program starts.
 */
#include "imports.h"

#include <string.h>

/*
 * Bytes and strings, and the checked forms that _FORTIFY_SOURCE calls. Not
 * strerror and strsignal, whose text may be kept per thread, and may be
 * stored: weft.h replaces them.
 */
static const char memory[] =
	" __bzero __explicit_bzero_chk __memcmpeq __memcpy_chk __memmove_chk"
	" __mempcpy __mempcpy_chk __memset_chk __rawmemchr __stpcpy"
	" __stpcpy_chk __stpncpy __stpncpy_chk __strcat_chk __strcpy_chk"
	" __strdup __strlcat_chk __strlcpy_chk __strncat_chk __strncpy_chk"
	" __strndup __strtok_r __xpg_basename __xpg_strerror_r basename bcmp"
	" bcopy bzero dirname explicit_bzero ffs ffsl ffsll index memccpy"
	" memchr memcmp memcpy memfrob memmem memmove mempcpy memrchr memset"
	" memset_explicit rawmemchr rindex sigabbrev_np sigdescr_np stpcpy"
	" stpncpy strcasecmp strcasecmp_l strcasestr strcat strchr strchrnul"
	" strcmp strcoll strcoll_l strcpy strcspn strdup strerror_r"
	" strerrordesc_np strerrorname_np strfry strlcat strlcpy strlen"
	" strncasecmp strncasecmp_l strncat strncmp strncpy strndup strnlen"
	" strpbrk strrchr strsep strspn strstr strtok strtok_r strverscmp"
	" strxfrm strxfrm_l swab ";

/*
 * Wide and multibyte characters. The default conversion state is the
 * process's.
 */
static const char wide[] =
	" __isoc23_wcstoimax __isoc23_wcstol __isoc23_wcstoll __isoc23_wcstoul"
	" __isoc23_wcstoull __isoc23_wcstoumax __mbrlen __mbsnrtowcs_chk"
	" __mbsrtowcs_chk __mbstowcs_chk __wcpcpy_chk __wcpncpy_chk"
	" __wcrtomb_chk __wcscat_chk __wcscpy_chk __wcsncat_chk __wcsncpy_chk"
	" __wcsnrtombs_chk __wcsrtombs_chk __wcstombs_chk __wctomb_chk"
	" __wmemcpy_chk __wmemmove_chk __wmempcpy_chk __wmemset_chk btowc"
	" c16rtomb c32rtomb c8rtomb iswalnum iswalnum_l iswalpha iswalpha_l"
	" iswblank iswblank_l iswcntrl iswcntrl_l iswctype iswctype_l iswdigit"
	" iswdigit_l iswgraph iswgraph_l iswlower iswlower_l iswprint"
	" iswprint_l iswpunct iswpunct_l iswspace iswspace_l iswupper"
	" iswupper_l iswxdigit iswxdigit_l mblen mbrlen mbrtoc16 mbrtoc32"
	" mbrtoc8 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc"
	" towctrans towctrans_l towlower towlower_l towupper towupper_l wcpcpy"
	" wcpncpy wcrtomb wcscasecmp wcscasecmp_l wcscat wcschr wcschrnul"
	" wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup wcsftime wcsftime_l"
	" wcslcat wcslcpy wcslen wcsncasecmp wcsncasecmp_l wcsncat wcsncmp"
	" wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr"
	" wcstod wcstod_l wcstof wcstof_l wcstoimax wcstok wcstol wcstol_l"
	" wcstold wcstold_l wcstoll wcstoll_l wcstombs wcstoq wcstoul"
	" wcstoul_l wcstoull wcstoull_l wcstoumax wcstouq wcswcs wcswidth"
	" wcsxfrm wcsxfrm_l wctob wctomb wctrans wctrans_l wctype wctype_l"
	" wcwidth wmemchr wmemcmp wmemcpy wmemmove wmempcpy wmemset ";

/*
 * Character classes and locales. The three __ctype_ functions return a
 * pointer to the thread's own pointer to a table: the preemption handler
 * notices a goroutine that holds one, as with any pointer into its thread's
 * memory. Not uselocale, which sets the thread's locale.
 */
static const char ctype[] =
	" __ctype_b_loc __ctype_get_mb_cur_max __ctype_tolower_loc"
	" __ctype_toupper_loc _tolower _toupper bind_textdomain_codeset"
	" bindtextdomain catclose catgets catopen dcgettext dcngettext"
	" dgettext dngettext duplocale freelocale gettext iconv iconv_close"
	" iconv_open isalnum isalnum_l isalpha isalpha_l isascii isblank"
	" isblank_l iscntrl iscntrl_l isctype isdigit isdigit_l isgraph"
	" isgraph_l islower islower_l isprint isprint_l ispunct ispunct_l"
	" isspace isspace_l isupper isupper_l isxdigit isxdigit_l localeconv"
	" newlocale ngettext nl_langinfo nl_langinfo_l rpmatch setlocale"
	" strfmon strfmon_l textdomain toascii tolower tolower_l toupper"
	" toupper_l ";

/*
 * Streams: their locks are held only within a call. Not flockfile and similar
 * functions, nor what calls back with a lock held (fopencookie).
 */
static const char stdio[] =
	" _IO_2_1_stderr_ _IO_2_1_stdin_ _IO_2_1_stdout_ _IO_getc _IO_putc"
	" __asprintf_chk __dprintf_chk __fbufsize __fgets_chk"
	" __fgets_unlocked_chk __fgetws_chk __flbf __fpending __fprintf_chk"
	" __fpurge __fread_chk __fread_unlocked_chk __freadable __freading"
	" __fsetlocking __fwprintf_chk __fwritable __fwriting __getdelim"
	" __gets_chk __isoc23_fscanf __isoc23_fwscanf __isoc23_scanf"
	" __isoc23_sscanf __isoc23_swscanf __isoc23_vfscanf __isoc23_vfwscanf"
	" __isoc23_vscanf __isoc23_vsscanf __isoc23_vswscanf __isoc23_vwscanf"
	" __isoc23_wscanf __isoc99_fscanf __isoc99_fwscanf __isoc99_scanf"
	" __isoc99_sscanf __isoc99_swscanf __isoc99_vfscanf __isoc99_vfwscanf"
	" __isoc99_vscanf __isoc99_vsscanf __isoc99_vswscanf __isoc99_vwscanf"
	" __isoc99_wscanf __obstack_printf_chk __obstack_vprintf_chk"
	" __overflow __printf_chk __snprintf_chk __sprintf_chk __swprintf_chk"
	" __uflow __underflow __vasprintf_chk __vdprintf_chk __vfprintf_chk"
	" __vfwprintf_chk __vprintf_chk __vsnprintf_chk __vsprintf_chk"
	" __vswprintf_chk __vwprintf_chk __wprintf_chk _flushlbf addseverity"
	" asprintf clearerr clearerr_unlocked ctermid dprintf err error"
	" error_at_line errx fclose fcloseall fdopen feof feof_unlocked ferror"
	" ferror_unlocked fflush fflush_unlocked fgetc fgetc_unlocked fgetpos"
	" fgetpos64 fgets fgets_unlocked fgetwc fgetwc_unlocked fgetws"
	" fgetws_unlocked fileno fileno_unlocked fmemopen fmtmsg fopen fopen64"
	" fprintf fputc fputc_unlocked fputs fputs_unlocked fputwc"
	" fputwc_unlocked fputws fputws_unlocked fread fread_unlocked freopen"
	" freopen64 fscanf fseek fseeko fseeko64 fsetpos fsetpos64 ftell"
	" ftello ftello64 fwide fwprintf fwrite fwrite_unlocked fwscanf getc"
	" getc_unlocked getchar getchar_unlocked getdelim getline gets getw"
	" getwc getwc_unlocked getwchar getwchar_unlocked obstack_printf"
	" obstack_vprintf open_memstream open_wmemstream parse_printf_format"
	" pclose perror popen printf printf_size printf_size_info psiginfo"
	" psignal putc putc_unlocked putchar putchar_unlocked puts putw putwc"
	" putwc_unlocked putwchar putwchar_unlocked remove rename renameat"
	" renameat2 rewind scanf setbuf setbuffer setlinebuf setvbuf snprintf"
	" sprintf sscanf stderr stdin stdout swprintf swscanf tempnam tmpfile"
	" tmpfile64 tmpnam tmpnam_r ungetc ungetwc vasprintf vdprintf verr"
	" verrx vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf"
	" vsprintf vsscanf vswprintf vswscanf vwarn vwarnx vwprintf vwscanf"
	" warn warnx wprintf wscanf ";

/*
 * Memory, numbers, sorting, the environment, exit. Callbacks (qsort) have
 * frames of libc among their callers and are not preempted.
 */
static const char stdlib[] =
	" _Exit ___environ __environ __isoc23_strtoimax __isoc23_strtol"
	" __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull"
	" __isoc23_strtoumax __posix_getopt __progname __progname_full"
	" __realpath_chk __strtod_internal __strtof_internal __strtol_internal"
	" __strtold_internal __strtoll_internal __strtoul_internal"
	" __strtoull_internal _environ _exit _obstack_allocated_p"
	" _obstack_begin _obstack_begin_1 _obstack_free _obstack_memory_used"
	" _obstack_newchunk a64l abort abs aligned_alloc arc4random"
	" arc4random_buf arc4random_uniform argp_err_exit_status argp_error"
	" argp_failure argp_help argp_parse argp_program_bug_address"
	" argp_program_version argp_program_version_hook argp_state_help"
	" argp_usage argz_add argz_add_sep argz_append argz_count argz_create"
	" argz_create_sep argz_delete argz_extract argz_insert argz_next"
	" argz_replace argz_stringify at_quick_exit atexit atof atoi atol"
	" atoll bsearch calloc canonicalize_file_name cfree clearenv div"
	" drand48 drand48_r ecvt ecvt_r environ envz_add envz_entry envz_get"
	" envz_merge envz_remove envz_strip erand48 erand48_r exit fcvt fcvt_r"
	" fnmatch free free_aligned_sized free_sized gcvt getentropy getenv"
	" getopt getopt_long getopt_long_only getrandom getsubopt glob glob64"
	" glob_pattern_p globfree globfree64 hcreate hcreate_r hdestroy"
	" hdestroy_r hsearch hsearch_r imaxabs imaxdiv initstate initstate_r"
	" insque jrand48 jrand48_r l64a labs lcong48 lcong48_r ldiv lfind"
	" llabs lldiv lrand48 lrand48_r lsearch mallinfo mallinfo2 malloc"
	" malloc_info malloc_stats malloc_trim malloc_usable_size mallopt"
	" memalign mkdtemp mkostemp mkostemp64 mkostemps mkostemps64 mkstemp"
	" mkstemp64 mkstemps mkstemps64 mktemp mrand48 mrand48_r nrand48"
	" nrand48_r obstack_alloc_failed_handler obstack_free on_exit optarg"
	" opterr optind optopt optreset posix_memalign program_invocation_name"
	" program_invocation_short_name putenv pvalloc qecvt qecvt_r qfcvt"
	" qfcvt_r qgcvt qsort qsort_r quick_exit rand rand_r random random_r"
	" re_comp re_compile_fastmap re_compile_pattern re_exec re_match"
	" re_match_2 re_search re_search_2 re_set_registers re_set_syntax"
	" re_syntax_options realloc reallocarray realpath regcomp regerror"
	" regexec regfree remque secure_getenv seed48 seed48_r setenv setstate"
	" setstate_r srand srand48 srand48_r srandom srandom_r strfromd"
	" strfromf strfromf128 strfromf32 strfromf32x strfromf64 strfromf64x"
	" strfroml strtod strtod_l strtof strtof128 strtof32 strtof32x"
	" strtof64 strtof64x strtof_l strtoimax strtol strtol_l strtold"
	" strtold_l strtoll strtoll_l strtoq strtoul strtoul_l strtoull"
	" strtoull_l strtoumax strtouq system tdelete tdestroy tfind tsearch"
	" twalk twalk_r unsetenv valloc wordexp wordfree ";

/* Time. */
static const char clock[] =
	" __daylight __timezone __tzname adjtime adjtimex alarm asctime"
	" asctime_r clock clock_getcpuclockid clock_getres clock_gettime"
	" clock_nanosleep clock_settime ctime ctime_r daylight difftime dysize"
	" ftime futimens futimes futimesat getdate getdate_err getdate_r"
	" getitimer gettimeofday gmtime gmtime_r localtime localtime_r lutimes"
	" mktime nanosleep setitimer settimeofday sleep strftime strftime_l"
	" strptime strptime_l thrd_sleep time timegm timelocal timer_create"
	" timer_delete timer_getoverrun timer_gettime timer_settime"
	" timerfd_create timerfd_gettime timerfd_settime times timespec_get"
	" timespec_getres timezone tzname tzset ualarm usleep utime utimensat"
	" utimes ";

/* Files and folders: what the kernel keeps for the process. */
static const char files[] =
	" __fdelt_chk __fdelt_warn __fxstat __fxstat64 __fxstatat __fxstatat64"
	" __getcwd_chk __getwd_chk __lxstat __lxstat64 __open64_2 __open_2"
	" __openat64_2 __openat_2 __poll_chk __ppoll_chk __pread64_chk"
	" __pread_chk __read_chk __readlink_chk __readlinkat_chk __xmknod"
	" __xmknodat __xstat __xstat64 access addmntent aio_cancel"
	" aio_cancel64 aio_error aio_error64 aio_fsync aio_fsync64 aio_init"
	" aio_read aio_read64 aio_return aio_return64 aio_suspend"
	" aio_suspend64 aio_write aio_write64 alphasort alphasort64"
	" cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed cfsetspeed"
	" chdir chmod chown chroot close close_range closedir closefrom"
	" copy_file_range creat creat64 dirfd dup dup2 dup3 eaccess endfsent"
	" endmntent endttyent euidaccess faccessat fallocate fallocate64"
	" fanotify_init fanotify_mark fchdir fchmod fchmodat fchown fchownat"
	" fcntl fcntl64 fdatasync fdopendir fgetxattr flistxattr flock forkpty"
	" fpathconf fremovexattr fsetxattr fstat fstat64 fstatat fstatat64"
	" fstatfs fstatfs64 fstatvfs fstatvfs64 fsync ftruncate ftruncate64"
	" fts64_children fts64_close fts64_open fts64_read fts64_set"
	" fts_children fts_close fts_open fts_read fts_set ftw ftw64"
	" get_current_dir_name getcwd getdents64 getdirentries getdirentries64"
	" getfsent getfsfile getfsspec getmntent getmntent_r getpt getttyent"
	" getttynam getwd getxattr gnu_dev_major gnu_dev_makedev gnu_dev_minor"
	" grantpt hasmntopt inotify_add_watch inotify_init inotify_init1"
	" inotify_rm_watch ioctl isatty lchmod lchown lgetxattr link linkat"
	" lio_listio lio_listio64 listxattr llistxattr lockf lockf64 login_tty"
	" lremovexattr lseek lseek64 lsetxattr lstat lstat64 mkdir mkdirat"
	" mkfifo mkfifoat mknod mknodat mount name_to_handle_at nftw nftw64"
	" open open64 open_by_handle_at openat openat64 opendir openpty"
	" pathconf pipe pipe2 posix_fadvise posix_fadvise64 posix_fallocate"
	" posix_fallocate64 posix_openpt pread pread64 preadv preadv2 preadv64"
	" preadv64v2 ptsname ptsname_r pwrite pwrite64 pwritev pwritev2"
	" pwritev64 pwritev64v2 read readahead readdir readdir64 readdir64_r"
	" readdir_r readlink readlinkat readv removexattr rewinddir rmdir"
	" scandir scandir64 scandirat scandirat64 seekdir sendfile sendfile64"
	" setfsent setmntent setttyent setxattr splice stat stat64 statfs"
	" statfs64 statvfs statvfs64 statx symlink symlinkat sync"
	" sync_file_range syncfs tcdrain tcflow tcflush tcgetattr tcgetpgrp"
	" tcgetsid tcgetwinsize tcsendbreak tcsetattr tcsetpgrp tcsetwinsize"
	" tee telldir truncate truncate64 ttyname ttyname_r umask umount"
	" umount2 unlink unlinkat unlockpt versionsort versionsort64 vmsplice"
	" write writev ";

/*
 * Networks, and waiting for descriptors. Not inet_ntoa, whose result is kept
 * per thread: weft.h replaces it. Not h_errno and herror, nor res_init.
 */
static const char sockets[] =
	" __cmsg_nxthdr __recv_chk __recvfrom_chk accept accept4 bind connect"
	" dn_comp dn_expand dn_skipname endhostent endnetent endprotoent"
	" endservent epoll_create epoll_create1 epoll_ctl epoll_pwait"
	" epoll_pwait2 epoll_wait ether_aton ether_aton_r ether_hostton"
	" ether_line ether_ntoa ether_ntoa_r ether_ntohost eventfd"
	" eventfd_read eventfd_write freeaddrinfo freeifaddrs gai_strerror"
	" getaddrinfo gethostbyaddr gethostbyaddr_r gethostbyname"
	" gethostbyname2 gethostbyname2_r gethostbyname_r gethostent"
	" gethostent_r getifaddrs getnameinfo getnetbyaddr getnetbyaddr_r"
	" getnetbyname getnetbyname_r getnetent getnetent_r getpeername"
	" getprotobyname getprotobyname_r getprotobynumber getprotobynumber_r"
	" getprotoent getprotoent_r getservbyname getservbyname_r"
	" getservbyport getservbyport_r getservent getservent_r getsockname"
	" getsockopt hstrerror htonl htons if_freenameindex if_indextoname"
	" if_nameindex if_nametoindex in6addr_any in6addr_loopback"
	" inet6_opt_append inet6_opt_find inet6_opt_finish inet6_opt_get_val"
	" inet6_opt_init inet6_opt_next inet6_opt_set_val inet6_rth_add"
	" inet6_rth_getaddr inet6_rth_init inet6_rth_reverse"
	" inet6_rth_segments inet6_rth_space inet_addr inet_aton inet_lnaof"
	" inet_makeaddr inet_netof inet_network inet_ntop inet_pton isfdtype"
	" listen ns_get16 ns_get32 ns_initparse ns_name_uncompress ns_parserr"
	" ns_put16 ns_put32 ns_skiprr ntohl ntohs poll ppoll pselect recv"
	" recvfrom recvmmsg recvmsg res_query res_querydomain res_search"
	" select send sendmmsg sendmsg sendto sethostent setnetent setprotoent"
	" setservent setsockopt shutdown signalfd sockatmark socket"
	" socketpair ";

/*
 * Processes, users, limits. Identities (setuid) are per thread for the kernel,
 * but libc sets them for all threads. Not setfsuid, nice, capset and the
 * scheduler's settings, which it sets for one only.
 */
static const char process[] =
	" _Fork __getauxval __getgroups_chk __gethostname_chk __mq_open_2"
	" __syslog_chk __vsyslog_chk acct brk closelog confstr cuserid daemon"
	" endgrent endpwent endspent endusershell endutent endutxent execl"
	" execle execlp execv execve execveat execvp execvpe fexecve fgetgrent"
	" fgetgrent_r fgetpwent fgetpwent_r fgetspent fork ftok"
	" get_avphys_pages get_nprocs get_nprocs_conf get_phys_pages getauxval"
	" getcpu getdomainname getdtablesize getegid geteuid getgid getgrent"
	" getgrent_r getgrgid getgrgid_r getgrnam getgrnam_r getgrouplist"
	" getgroups gethostid gethostname getloadavg getlogin getlogin_r"
	" getpagesize getpass getpgid getpgrp getpid getppid getpwent"
	" getpwent_r getpwnam getpwnam_r getpwuid getpwuid_r getresgid"
	" getresuid getrlimit getrlimit64 getrusage getsid getspent getspnam"
	" getspnam_r getuid getusershell getutent getutent_r getutid getutid_r"
	" getutline getutline_r getutxent getutxid getutxline group_member"
	" initgroups login logout logwtmp madvise memfd_create mincore mlock"
	" mlock2 mlockall mmap mmap64 mprotect mq_close mq_getattr mq_notify"
	" mq_open mq_receive mq_send mq_setattr mq_timedreceive mq_timedsend"
	" mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock"
	" munlockall munmap openlog pidfd_getfd pidfd_open pidfd_send_signal"
	" posix_madvise posix_spawn posix_spawn_file_actions_addchdir_np"
	" posix_spawn_file_actions_addclose"
	" posix_spawn_file_actions_addclosefrom_np"
	" posix_spawn_file_actions_adddup2"
	" posix_spawn_file_actions_addfchdir_np"
	" posix_spawn_file_actions_addopen"
	" posix_spawn_file_actions_addtcsetpgrp_np"
	" posix_spawn_file_actions_destroy posix_spawn_file_actions_init"
	" posix_spawnattr_destroy posix_spawnattr_getflags"
	" posix_spawnattr_getpgroup posix_spawnattr_getschedparam"
	" posix_spawnattr_getschedpolicy posix_spawnattr_getsigdefault"
	" posix_spawnattr_getsigmask posix_spawnattr_init"
	" posix_spawnattr_setflags posix_spawnattr_setpgroup"
	" posix_spawnattr_setschedparam posix_spawnattr_setschedpolicy"
	" posix_spawnattr_setsigdefault posix_spawnattr_setsigmask"
	" posix_spawnp prlimit prlimit64 process_madvise process_vm_readv"
	" process_vm_writev putgrent putpwent putspent pututline pututxline"
	" sbrk sched_getaffinity sched_getcpu sem_clockwait sem_close"
	" sem_destroy sem_getvalue sem_init sem_open sem_post sem_timedwait"
	" sem_trywait sem_unlink sem_wait semctl semget semop semtimedop"
	" setdomainname setegid seteuid setgid setgrent setgroups sethostname"
	" setlogmask setpgid setpgrp setpwent setregid setresgid setresuid"
	" setreuid setrlimit setrlimit64 setsid setspent setuid setusershell"
	" setutent setutxent shm_open shm_unlink shmat shmctl shmdt shmget"
	" sysconf sysinfo syslog ulimit uname updwtmp updwtmpx utmpname"
	" utmpxname vsyslog wait wait3 wait4 waitid waitpid ";

/*
 * Signals and jumps: handlers are per process, masks and signal stacks per
 * thread. A goroutine with another mask than its M had is not preempted. raise
 * signals its own thread, but delivers before it returns.
 */
static const char signals[] =
	" __libc_current_sigrtmax __libc_current_sigrtmin __longjmp_chk"
	" __sigpause __sigsetjmp __sysv_signal __xpg_sigpause _longjmp _setjmp"
	" bsd_signal gsignal kill killpg longjmp pause pthread_kill"
	" pthread_sigmask pthread_sigqueue raise setjmp sigaction sigaddset"
	" sigandset sigblock sigdelset sigemptyset sigfillset siggetmask"
	" sighold sigignore siginterrupt sigisemptyset sigismember siglongjmp"
	" signal sigorset sigpause sigpending sigprocmask sigqueue sigrelse"
	" sigset sigsetjmp sigsetmask sigsuspend sigtimedwait sigwait"
	" sigwaitinfo ssignal sys_siglist sysv_signal tgkill ";

/*
 * Creating plain threads; operations on a thread by its handle; initialising
 * locks, and waking waiters. Not pthread_self, nor anything that makes a
 * thread an owner.
 */
static const char threads[] =
	" __pthread_once __register_atfork __sched_cpualloc __sched_cpucount"
	" __sched_cpufree call_once cnd_broadcast cnd_destroy cnd_init"
	" cnd_signal mtx_destroy mtx_init pthread_atfork pthread_attr_destroy"
	" pthread_attr_getaffinity_np pthread_attr_getdetachstate"
	" pthread_attr_getguardsize pthread_attr_getinheritsched"
	" pthread_attr_getschedparam pthread_attr_getschedpolicy"
	" pthread_attr_getscope pthread_attr_getsigmask_np"
	" pthread_attr_getstack pthread_attr_getstacksize pthread_attr_init"
	" pthread_attr_setaffinity_np pthread_attr_setdetachstate"
	" pthread_attr_setguardsize pthread_attr_setinheritsched"
	" pthread_attr_setschedparam pthread_attr_setschedpolicy"
	" pthread_attr_setscope pthread_attr_setsigmask_np"
	" pthread_attr_setstack pthread_attr_setstacksize"
	" pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait"
	" pthread_barrierattr_destroy pthread_barrierattr_getpshared"
	" pthread_barrierattr_init pthread_barrierattr_setpshared"
	" pthread_clockjoin_np pthread_cond_broadcast pthread_cond_destroy"
	" pthread_cond_init pthread_cond_signal pthread_condattr_destroy"
	" pthread_condattr_getclock pthread_condattr_getpshared"
	" pthread_condattr_init pthread_condattr_setclock"
	" pthread_condattr_setpshared pthread_create pthread_detach"
	" pthread_equal pthread_getaffinity_np pthread_getattr_default_np"
	" pthread_getconcurrency pthread_getcpuclockid pthread_getname_np"
	" pthread_getschedparam pthread_join pthread_mutex_destroy"
	" pthread_mutex_init pthread_mutexattr_destroy"
	" pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol"
	" pthread_mutexattr_getpshared pthread_mutexattr_getrobust"
	" pthread_mutexattr_gettype pthread_mutexattr_init"
	" pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol"
	" pthread_mutexattr_setpshared pthread_mutexattr_setrobust"
	" pthread_mutexattr_settype pthread_once pthread_rwlock_destroy"
	" pthread_rwlock_init pthread_rwlockattr_destroy"
	" pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared"
	" pthread_rwlockattr_init pthread_rwlockattr_setkind_np"
	" pthread_rwlockattr_setpshared pthread_setaffinity_np"
	" pthread_setattr_default_np pthread_setconcurrency pthread_setname_np"
	" pthread_setschedparam pthread_setschedprio pthread_spin_destroy"
	" pthread_spin_init pthread_timedjoin_np pthread_tryjoin_np"
	" sched_get_priority_max sched_get_priority_min sched_yield"
	" thrd_create thrd_detach thrd_equal thrd_join thrd_yield ";

/*
 * What compilers and linkers add; arithmetic on numbers that are too wide for
 * the processor, in libgcc. Not syscall: it can do anything.
 */
static const char start[] =
	" _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __absvdi2"
	" __absvsi2 __absvti2 __addtf3 __addvdi3 __addvsi3 __addvti3 __ashlti3"
	" __ashrti3 __assert __assert_fail __assert_perror_fail __bswapdi2"
	" __bswapsi2 __chk_fail __clear_cache __clrsbdi2 __clrsbti2 __clzdi2"
	" __clzti2 __cmpti2 __cpu_indicator_init __cpu_model __ctzdi2 __ctzti2"
	" __cxa_at_quick_exit __cxa_atexit __cxa_finalize __divdc3 __divhc3"
	" __divmodti4 __divsc3 __divtc3 __divtf3 __divti3 __divxc3"
	" __dso_handle __eqhf2 __eqtf2 __extenddftf2 __extendhfdf2"
	" __extendhfsf2 __extendhftf2 __extendhfxf2 __extendsfdf2"
	" __extendsftf2 __extendxftf2 __ffsdi2 __ffsti2 __fixdfti __fixhfti"
	" __fixsfti __fixtfdi __fixtfsi __fixtfti __fixunsdfdi __fixunsdfti"
	" __fixunshfti __fixunssfdi __fixunssfti __fixunstfdi __fixunstfsi"
	" __fixunstfti __fixunsxfdi __fixunsxfti __fixxfti __floatditf"
	" __floatsitf __floattidf __floattihf __floattisf __floattitf"
	" __floattixf __floatunditf __floatunsitf __floatuntidf __floatuntihf"
	" __floatuntisf __floatuntitf __floatuntixf __fortify_fail __getf2"
	" __gmon_start__ __gttf2 __letf2 __libc_csu_fini __libc_csu_init"
	" __libc_single_threaded __libc_start_call_main __libc_start_main"
	" __lshrti3 __lttf2 __modti3 __muldc3 __mulhc3 __mulsc3 __multc3"
	" __multf3 __multi3 __mulvdi3 __mulvsi3 __mulvti3 __mulxc3 __negtf2"
	" __negti2 __negvdi2 __negvsi2 __negvti2 __nehf2 __netf2 __paritydi2"
	" __parityti2 __popcountdi2 __popcountti2 __powidf2 __powisf2"
	" __powitf2 __powixf2 __stack_chk_fail __stack_chk_guard __subtf3"
	" __subvdi3 __subvsi3 __subvti3 __truncdfhf2 __truncdfsf2 __truncsfhf2"
	" __trunctfdf2 __trunctfhf2 __trunctfsf2 __trunctfxf2 __truncxfhf2"
	" __ucmpti2 __udivmodti4 __udivti3 __umodti3 __unordtf2"
	" _dl_find_object _fini _init backtrace backtrace_symbols"
	" backtrace_symbols_fd dl_iterate_phdr dladdr gnu_get_libc_release"
	" gnu_get_libc_version ";

/*
 * The floating-point unit's control bits and flags are registers: a goroutine
 * that is preempted keeps them, and the next one gets the default.
 */
static const char environment[] =
	" __flt_rounds feclearexcept fedisableexcept feenableexcept fegetenv"
	" fegetexcept fegetexceptflag fegetmode fegetround feholdexcept"
	" feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode"
	" fesetround fetestexcept fetestexceptflag feupdateenv ";

/*
 * The rest of libm. Listed are the functions of double; those of other types
 * have a suffix, and optimised ones are wrapped in __ and _finite.
 */
static const char math[] =
	" __finite __finitef __finitel __fpclassify __fpclassifyf"
	" __fpclassifyl __iseqsig __isinf __isinff __isinfl __isnan __isnanf"
	" __isnanl __issignaling __signbit __signbitf __signbitl __signgam"
	" acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi"
	" cabs cacos cacosh canonicalize carg casin casinh catan catanh cbrt"
	" ccos ccosh ceil cexp cimag clog clog10 compoundn conj copysign cos"
	" cosh cospi cpow cproj creal csin csinh csqrt ctan ctanh daddl ddivl"
	" dfmal dmull drem dsqrtl dsubl erf erfc exp exp10 exp10m1 exp2 exp2m1"
	" expm1 fabs fadd faddl fdim fdiv fdivl ffma ffmal finite floor fma"
	" fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag"
	" fmin fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag"
	" fmod fmul fmull frexp fromfp fromfpx fsqrt fsqrtl fsub fsubl gamma"
	" gamma_r gammaf_r gammal_r getpayload hypot ilogb isinf isnan j0 j1"
	" jn ldexp lgamma lgamma_r lgammaf128_r lgammaf32_r lgammaf32x_r"
	" lgammaf64_r lgammaf64x_r lgammaf_r lgammal_r llogb llrint llround"
	" log log10 log10p1 log1p log2 log2p1 logb logp1 lrint lround modf nan"
	" nearbyint nextafter nextdown nexttoward nextup pow pow10 pown powr"
	" remainder remquo rint rootn round roundeven rsqrt scalb scalbln"
	" scalbn setpayload setpayloadsig signgam significand sin sincos sinh"
	" sinpi sqrt tan tanh tanpi tgamma totalorder totalordermag trunc"
	" ufromfp ufromfpx y0 y1 yn ";

const struct import_theme import_themes[] = {
	{ memory, sizeof(memory) - 1 },
	{ wide, sizeof(wide) - 1 },
	{ ctype, sizeof(ctype) - 1 },
	{ stdio, sizeof(stdio) - 1 },
	{ stdlib, sizeof(stdlib) - 1 },
	{ clock, sizeof(clock) - 1 },
	{ files, sizeof(files) - 1 },
	{ sockets, sizeof(sockets) - 1 },
	{ process, sizeof(process) - 1 },
	{ signals, sizeof(signals) - 1 },
	{ threads, sizeof(threads) - 1 },
	{ start, sizeof(start) - 1 },
	{ environment, sizeof(environment) - 1 },
	{ math, sizeof(math) - 1 },
};
const size_t import_n_themes = countof(import_themes);

/* libm's suffixes for types other than double. */
static const char *const types[] = {
	"", "f", "l", "f32", "f64", "f32x", "f64x", "f128"
};

/* Compares a name of n bytes with the one at s, which ends at a blank. */
static int
compare(const char *name, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (name[i] != s[i])
			return s[i] == ' ' || name[i] > s[i] ? 1 : -1;
	return s[n] == ' ' ? 0 : -1;
}

/* Binary search; from any byte it steps to the name that contains it. */
static bool
listed(const struct import_theme *t, const char *name, size_t n)
{
	size_t lo = 0, hi = t->bytes - 1;	/* both on a blank */

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order;

		while (t->names[mid] != ' ')
			mid--;
		order = compare(name, n, t->names + mid + 1);
		if (order == 0)
			return n > 0;
		if (order < 0) {
			hi = mid;
			continue;
		}
		do
			mid++;
		while (t->names[mid] != ' ');
		lo = mid;
	}
	return false;
}

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool
ends(const char *s, size_t n, const char *with)
{
	size_t k = strlen(with);

	return n >= k && memcmp(s + n - k, with, k) == 0;
}

static bool
is_math(const char *s)
{
	const struct import_theme t = { math, sizeof(math) - 1 };
	size_t n = strlen(s);

	if (begins(s, "__") && ends(s, n, "_finite")) {
		s += strlen("__");
		n -= strlen("___finite");
	}
	for (size_t i = 0; i < countof(types); i++)
		if (ends(s, n, types[i]) &&
		    listed(&t, s, n - strlen(types[i])))
			return true;
	return false;
}

bool
import_allowed(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < countof(import_themes); i++)
		if (listed(&import_themes[i], name, n))
			return true;
	return is_math(name) || begins(name, "weft_");
}

static bool
one_of(const char *name, const char *const names[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool
import_is_ours(const char *name)
{
	static const char *const names[] = {
		"__errno_location", "__cxa_get_globals", "pthread_self",
		"pthread_getattr_np", "dlopen", "dlsym", "dladdr", "strerror",
		"strsignal"
	};

	return one_of(name, names, countof(names));
}

bool
import_is_malloc(const char *name)
{
	static const char *const names[] = {
		"aligned_alloc", "calloc", "cfree", "free", "malloc",
		"malloc_usable_size", "memalign", "posix_memalign", "pvalloc",
		"realloc", "reallocarray", "valloc"
	};

	return one_of(name, names, countof(names));
}

bool
import_is_libc(const char *soname)
{
	return !strcmp(soname, "libc.so.6") || !strcmp(soname, "libc.so") ||
	    begins(soname, "libc.musl-") || begins(soname, "ld-musl-");
}

/* libpthread, librt and libdl are empty, or parts of an older glibc. */
bool
import_library(const char *soname)
{
	static const char *const names[] = {
		"libm.so.6", "libgcc_s.so.1", "libweft.so.0",
		"libpthread.so.0", "librt.so.1", "libdl.so.2"
	};

	if (import_is_libc(soname) || begins(soname, "ld-linux"))
		return true;
	for (size_t i = 0; i < countof(names); i++)
		if (!strcmp(soname, names[i]))
			return true;
	return false;
}
