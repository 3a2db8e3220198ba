/* Preloaded into a process under test: its time of day is the machine's plus the milliseconds in the file that TRIBUTARY_CHAOS_CLOCK names.
 * gettimeofday stays as it is: librdkafka makes from it the deadlines of pthread_cond_timedwait, which the kernel reads by its own clock; a
 * wait would end at once or last for the whole jump, as after no jump of the machine's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ms;

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("TRIBUTARY_CHAOS_CLOCK");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *page = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) offset_ms = page;
  close(file);
}

static void shift(struct timespec *now) {
  int64_t shift_ms = offset_ms ? *offset_ms : 0;
  int64_t total_ns = now->tv_nsec + (shift_ms % 1000) * 1000000;
  now->tv_sec += shift_ms / 1000;
  if (total_ns < 0) { now->tv_sec -= 1; total_ns += 1000000000; }
  if (total_ns >= 1000000000) { now->tv_sec += 1; total_ns -= 1000000000; }
  now->tv_nsec = total_ns;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(now);
  return result;
}

time_t time(time_t *place) {
  struct timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  if (place) *place = fine.tv_sec;
  return fine.tv_sec;
}
