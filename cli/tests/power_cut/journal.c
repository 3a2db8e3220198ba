/* Preloaded into the process under test: everything that it does to files goes into a journal, in the order in which it was done, with the
 * moments at which it was told that something is durable. `journal.rs` reads it.
 *
 * Creations and contents are seen in the functions of the C library. Renames, links and removals are seen at the system call, since some
 * libraries make it themselves: a filter turns them into a signal, whose handler does them, with a mark in the sixth argument that passes.
 * A journal entry: kind, inode, two numbers, two lengths, two byte strings. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define MARK 0x7072u

enum { ROOT = 'R', CREATE = 'C', FOLDER = 'D', WRITE = 'W', SIZE = 'T', RENAME = 'N', LINK = 'L', REMOVE = 'U', SYNC = 'S', MAPPED = 'M' };

struct entry {
  uint64_t kind, inode, first, second, length, other_length;
};

static int journal = -1;
static uint64_t count;
static dev_t device;
/* Names below it are of interest. */
static char root[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void append(int kind, uint64_t inode, uint64_t first, uint64_t second, const void *bytes, size_t length, const char *other) {
  struct entry entry = {kind, inode, first, second, length, other ? strlen(other) : 0};
  struct iovec parts[3] = {{&entry, sizeof entry}, {(void *)bytes, length}, {(void *)other, entry.other_length}};
  size_t whole = sizeof entry + length + entry.other_length;
  if (syscall(SYS_writev, journal, parts, 3) != (ssize_t)whole) abort();
  count++;
}

/* Whether the descriptor is a file of the disk in question; its inode. */
static int is_file(int file, struct stat *found) {
  return journal >= 0 && fstat(file, found) == 0 && S_ISREG(found->st_mode) && found->st_dev == device;
}

/* A path that begins at the root of the disk; 0 if it lies outside of the folder in question. */
static int resolve(int folder, const char *path, char *whole, size_t room) {
  if (journal < 0 || !path) return 0;
  if (path[0] == '/') {
    snprintf(whole, room, "%s", path);
  } else {
    char link[64], base[4096];
    ssize_t length;
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
    snprintf(whole, room, "%s/%s", base, path);
  }
  size_t length = strlen(root);
  return strncmp(whole, root, length) == 0 && (whole[length] == '/' || whole[length] == 0);
}

/* --- contents ------------------------------------------------------------------------------------------------------------------ */

static int open_file(int folder, const char *path, int flags, mode_t mode) {
  char whole[8192];
  if (!(flags & (O_CREAT | O_TRUNC)) || !resolve(folder, path, whole, sizeof whole)) return syscall(SYS_openat, folder, path, flags, mode);
  struct stat before, after;
  pthread_mutex_lock(&lock);
  int was_there = stat(whole, &before) == 0;
  int file = syscall(SYS_openat, folder, path, flags, mode);
  int error = errno;
  if (file >= 0 && is_file(file, &after)) {
    if (!was_there) append(CREATE, after.st_ino, 0, 0, whole, strlen(whole), 0);
    else if ((flags & O_TRUNC) && before.st_size > 0) append(SIZE, after.st_ino, 0, 0, 0, 0, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return file;
}

#define MODE(last) va_list list; va_start(list, last); mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0; va_end(list)
int open(const char *path, int flags, ...) { MODE(flags); return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return open_file(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags); return open_file(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags); return open_file(folder, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* At an offset, or where the file is (-1). */
static ssize_t write_file(int file, const void *bytes, size_t length, off_t offset) {
  struct stat found;
  if (!is_file(file, &found)) return offset < 0 ? syscall(SYS_write, file, bytes, length) : syscall(SYS_pwrite64, file, bytes, length, offset);
  pthread_mutex_lock(&lock);
  ssize_t done = offset < 0 ? syscall(SYS_write, file, bytes, length) : syscall(SYS_pwrite64, file, bytes, length, offset);
  int error = errno;
  if (done > 0) append(WRITE, found.st_ino, offset < 0 ? lseek(file, 0, SEEK_CUR) - done : offset, 0, bytes, done, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t write(int file, const void *bytes, size_t length) { return write_file(file, bytes, length, -1); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) { return write_file(file, bytes, length, offset); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off_t offset) { return write_file(file, bytes, length, offset); }

/* Callers go on after a part of it. */
ssize_t writev(int file, const struct iovec *parts, int number) {
  struct stat found;
  if (!is_file(file, &found)) return syscall(SYS_writev, file, parts, number);
  for (int part = 0; part < number; part++)
    if (parts[part].iov_len > 0) return write_file(file, parts[part].iov_base, parts[part].iov_len, -1);
  return 0;
}

static int set_size(int file, off_t size) {
  struct stat found;
  if (!is_file(file, &found)) return syscall(SYS_ftruncate, file, size);
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_ftruncate, file, size);
  int error = errno;
  if (result == 0) append(SIZE, found.st_ino, size, 0, 0, 0, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int ftruncate(int file, off_t size) { return set_size(file, size); }
int ftruncate64(int file, off_t size) { return set_size(file, size); }

/* Others write instead where these are not there. */
ssize_t copy_file_range(int from, off_t *at, int to, off_t *place, size_t length, unsigned flags) { errno = ENOSYS; return -1; }
ssize_t sendfile(int to, int from, off_t *offset, size_t length) { errno = ENOSYS; return -1; }
ssize_t sendfile64(int to, int from, off_t *offset, size_t length) { errno = ENOSYS; return -1; }
int fallocate(int file, int mode, off_t offset, off_t length) { errno = EOPNOTSUPP; return -1; }
int fallocate64(int file, int mode, off_t offset, off_t length) { errno = EOPNOTSUPP; return -1; }
int posix_fallocate(int file, off_t offset, off_t length) { return EOPNOTSUPP; }
int posix_fallocate64(int file, off_t offset, off_t length) { return EOPNOTSUPP; }

/* What was done before it began is durable once it has ended. */
static int sync_file(int file, long call) {
  struct stat found;
  if (journal < 0 || fstat(file, &found) != 0 || found.st_dev != device) return syscall(call, file);
  pthread_mutex_lock(&lock);
  uint64_t until = count;
  pthread_mutex_unlock(&lock);
  int result = syscall(call, file);
  int error = errno;
  pthread_mutex_lock(&lock);
  if (result == 0) append(SYNC, found.st_ino, until, 0, 0, 0, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

static void *map(void *address, size_t length, int rights, int flags, int file, off_t offset) {
  struct stat found;
  if ((flags & MAP_SHARED) && (rights & PROT_WRITE) && file >= 0 && is_file(file, &found)) {
    pthread_mutex_lock(&lock);
    append(MAPPED, found.st_ino, 0, 0, 0, 0, 0);
    pthread_mutex_unlock(&lock);
  }
  return (void *)syscall(SYS_mmap, address, length, rights, flags, file, offset);
}

void *mmap(void *address, size_t length, int rights, int flags, int file, off_t offset) { return map(address, length, rights, flags, file, offset); }
void *mmap64(void *address, size_t length, int rights, int flags, int file, off_t offset) { return map(address, length, rights, flags, file, offset); }

/* --- names --------------------------------------------------------------------------------------------------------------------- */

struct call {
  long number, arguments[5];
};

static long perform(const struct call *call) {
  const long *a = call->arguments;
  long result = syscall(call->number, a[0], a[1], a[2], a[3], a[4], MARK);
  return result < 0 ? -errno : result;
}

static long rename_name(const struct call *call, int from_folder, const char *from, int to_folder, const char *to, int kind) {
  char old_name[8192], new_name[8192];
  int is_ours = resolve(from_folder, from, old_name, sizeof old_name) | resolve(to_folder, to, new_name, sizeof new_name) << 1;
  long result = perform(call);
  if (result == 0 && is_ours == 3) append(kind, 0, 0, 0, old_name, strlen(old_name), new_name);
  /* Into or out of the folder: not seen by the reader. */
  else if (result == 0 && is_ours != 0) append(MAPPED, 0, 0, 0, old_name, strlen(old_name), new_name);
  return result;
}

static long change_name(const struct call *call, int folder, const char *path, int kind) {
  char whole[8192];
  struct stat found = {0};
  int is_ours = resolve(folder, path, whole, sizeof whole);
  long result = perform(call);
  if (result != 0 || !is_ours) return result;
  if (kind == FOLDER) stat(whole, &found);
  append(kind, found.st_ino, 0, 0, whole, strlen(whole), 0);
  return result;
}

static long handle(const struct call *call) {
  const long *a = call->arguments;
  switch (call->number) {
#ifdef SYS_rename
    case SYS_rename: return rename_name(call, AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1], RENAME);
    case SYS_link: return rename_name(call, AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1], LINK);
    case SYS_unlink: case SYS_rmdir: return change_name(call, AT_FDCWD, (char *)a[0], REMOVE);
    case SYS_mkdir: return change_name(call, AT_FDCWD, (char *)a[0], FOLDER);
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2: return rename_name(call, a[0], (char *)a[1], a[2], (char *)a[3], RENAME);
    case SYS_linkat: return rename_name(call, a[0], (char *)a[1], a[2], (char *)a[3], LINK);
    case SYS_unlinkat: return change_name(call, a[0], (char *)a[1], REMOVE);
    case SYS_mkdirat: return change_name(call, a[0], (char *)a[1], FOLDER);
  }
  return perform(call);
}

static void on_call(int signal, siginfo_t *information, void *context) {
  int error = errno;
#if defined(__x86_64__)
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  struct call call = {information->si_syscall, {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8]}};
#else
  unsigned long long *r = ((ucontext_t *)context)->uc_mcontext.regs;
  struct call call = {information->si_syscall, {r[0], r[1], r[2], r[3], r[4]}};
#endif
  pthread_mutex_lock(&lock);
  long result = handle(&call);
  pthread_mutex_unlock(&lock);
#if defined(__x86_64__)
  r[REG_RAX] = result;
#else
  r[0] = result;
#endif
  errno = error;
}

static void watch_names(void) {
  static const int calls[] = {
#ifdef SYS_rename
      SYS_rename, SYS_link, SYS_unlink, SYS_rmdir, SYS_mkdir,
#endif
#ifdef SYS_renameat
      SYS_renameat,
#endif
      SYS_renameat2, SYS_linkat, SYS_unlinkat, SYS_mkdirat};
  enum { CALLS = sizeof calls / sizeof *calls };
  struct sock_filter filter[CALLS + 5];
  int at = 0;
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < CALLS; i++) filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], CALLS - i, 0);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]));
  filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_filter trap = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  struct sock_filter whole[CALLS + 6];
  memcpy(whole, filter, at * sizeof *filter);
  whole[at++] = trap;
  struct sock_fprog program = {at, whole};
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  sigfillset(&action.sa_mask);
  sigaction(SIGSYS, &action, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("TRIBUTARY_POWER_JOURNAL"), *folder = getenv("TRIBUTARY_POWER_FOLDER");
  struct stat found;
  if (!path || !folder || stat(folder, &found) != 0) return;
  /* Not for the processes that this one starts. */
  unsetenv("TRIBUTARY_POWER_JOURNAL");
  snprintf(root, sizeof root, "%s", folder);
  device = found.st_dev;
  int file = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) abort();
  journal = file;
  append(ROOT, found.st_ino, 0, 0, root, strlen(root), 0);
  watch_names();
}
