/* Makes the CPU look like a lesser one to one program and what it starts: every CPUID instruction
 * faults (arch_prctl(ARCH_SET_CPUID)), and the handler answers with feature bits cleared. So
 * libraries that look at the CPU on their own (ISA-L, intel-ipsec-mb, OpenSSL, AWS-LC, zlib-ng) take
 * the code that they take there. Built and preloaded by scripts/cap-cpu.
 *
 * What it does not change: glibc's own choice (made before this is loaded; scripts/cap-cpu caps it by
 * GLIBC_TUNABLES), XGETBV, the vendor and the model, the clock rate, and what instructions cost.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

/* Bits cleared of leaf 1 ECX, leaf 7.0 EBX, ECX, EDX, leaf 7.1 EAX. */
struct mask { unsigned c1, b7, c7, d7, a71; };

static struct mask hidden;
static struct sigaction before;

static void cpuid(unsigned leaf, unsigned sub, unsigned *r) {
  __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(sub));
}

static void set_faulting(int faulting) {
  /* The system call itself: libc's wrapper would write errno. */
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_arch_prctl), "D"((long)ARCH_SET_CPUID), "S"((long)!faulting)
                   : "rcx", "r11", "memory");
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)g[REG_RIP];
  /* A fault without an address of its own is a general protection: only then is `at` readable. */
  if (info->si_code == SI_KERNEL && at[0] == 0x0f && at[1] == 0xa2) {
    unsigned leaf = (unsigned)g[REG_RAX], sub = (unsigned)g[REG_RCX], r[4];
    set_faulting(0);
    cpuid(leaf, sub, r);
    set_faulting(1);
    if (leaf == 1) r[2] &= ~hidden.c1;
    if (leaf == 7 && sub == 0) r[1] &= ~hidden.b7, r[2] &= ~hidden.c7, r[3] &= ~hidden.d7;
    if (leaf == 7 && sub == 1) r[0] &= ~hidden.a71;
    if (leaf == 0x24) memset(r, 0, sizeof r);
    g[REG_RAX] = r[0], g[REG_RBX] = r[1], g[REG_RCX] = r[2], g[REG_RDX] = r[3];
    g[REG_RIP] += 2;
    return;
  }
  /* A real fault: the handler that was there, or the end. */
  sigaction(SIGSEGV, &before, NULL);
  (void)signal;
}

#define BIT(n) (1u << (n))
enum {
  AVX512_B7 = (int)(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31)),
  AVX512_C7 = (int)(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14)),
  AVX512_D7 = (int)(BIT(2) | BIT(3) | BIT(8) | BIT(23) | BIT(22) | BIT(24) | BIT(25)),
  AVX512_A71 = (int)(BIT(5) | BIT(4)),
  GFNI_C7 = BIT(8), VAES_C7 = BIT(9), VPCLMUL_C7 = BIT(10), SHA_B7 = BIT(29), ADX_B7 = BIT(19),
  IFMA_B7 = BIT(21), VBMI_C7 = BIT(1), VBMI2_C7 = BIT(6)
};

/* Linked with -z initfirst, so that it runs before every other library's constructor: libc's too, hence
 * no getenv. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **envp) {
  (void)argc, (void)argv;
  const char *name = NULL;
  for (char **e = envp; *e; e++)
    if (!strncmp(*e, "CAP_CPU=", 8)) name = *e + 8;
  if (!name || !*name) return;
  struct mask m = {0, AVX512_B7, AVX512_C7, AVX512_D7, AVX512_A71};
  if (!strcmp(name, "zen3")) {
    /* AVX2, VAES and VPCLMULQDQ of 256 bits, SHA-NI, ADX. */
    m.c7 |= GFNI_C7;
    m.a71 |= BIT(23); /* AVX-IFMA */
  } else if (!strcmp(name, "alderlake")) {
    /* As Zen 3, with GFNI. */
  } else if (!strcmp(name, "zen2")) {
    /* AVX2, SHA-NI, ADX; AES and carry-less multiplication of 128 bits only. */
    m.c7 |= GFNI_C7 | VAES_C7 | VPCLMUL_C7;
    m.a71 |= BIT(23);
  } else if (!strcmp(name, "haswell")) {
    /* AVX2 and AES-NI, nothing later. */
    m.c7 |= GFNI_C7 | VAES_C7 | VPCLMUL_C7;
    m.b7 |= SHA_B7 | ADX_B7;
    m.a71 |= BIT(23);
  } else if (!strcmp(name, "skylake-x")) {
    /* AVX-512 F, CD, BW, DQ, VL alone. */
    memset(&m, 0, sizeof m);
    m.b7 = IFMA_B7 | SHA_B7;
    m.c7 = AVX512_C7 | GFNI_C7 | VAES_C7 | VPCLMUL_C7;
    m.d7 = AVX512_D7;
    m.a71 = AVX512_A71 | BIT(23);
  } else {
    fprintf(stderr, "cap-cpu: no CPU '%s': zen3, alderlake, zen2, haswell, skylake-x\n", name);
    _exit(2);
  }
  hidden = m;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) {
    fprintf(stderr, "cap-cpu: this CPU or kernel has no CPUID faulting\n");
    _exit(77);
  }
}
