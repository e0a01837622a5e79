// A program that runs jobs of many lengths from several threads at once, while others change the number of workers, lets them
// fall asleep, and forks: every element of every job must be met once. Then workers must still take part, after jobs that end
// just when they fall asleep as well. Prints how many jobs ran, or the first that was wrong. `thread-pool.test.ts` builds it;
// with -fsanitize=thread and an argument (no forks) it finds races.
#include "../../native/thread-pool.h"

#include <cstdio>
#include <ctime>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

std::atomic<long> ran{0};
std::atomic<bool> wrong{false};

using Meetings = std::vector<std::atomic<int>>;

void meet(void *context, long begin, long end) {
  Meetings &met = *static_cast<Meetings *>(context);
  for (long i = begin; i < end; i++) met[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
}

// Chunks that wait for those before them, as ordered parts of loops do.
struct Turns {
  std::atomic<long> turn{0};
};

void inTurn(void *context, long begin, long end) {
  Turns &turns = *static_cast<Turns *>(context);
  while (turns.turn.load() != begin) pool::pauseBriefly();
  turns.turn.store(end);
}

// As numbers without a library's lock are: the next of a linear congruence.
long next(unsigned &seed, long below) {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<long>(seed >> 8) % below;
}

void client(unsigned seed, int jobs) {
  for (int k = 0; k < jobs && !wrong; k++) {
    const long total = 1 + next(seed, 3000), grain = k % 7 == 0 ? 1 : 1 + next(seed, 200);
    Meetings met(static_cast<size_t>(total));
    pool::parallel(meet, &met, total, grain);
    for (std::atomic<int> &times : met) {
      if (times.load() == 1 || wrong.exchange(true)) continue;
      std::printf("an element of a job of %ld by %ld was met %d times\n", total, grain, times.load());
    }
    Turns turns;
    pool::parallel(inTurn, &turns, total, grain);
    ran.fetch_add(2);
    if (k % 97 == 0) usleep(static_cast<useconds_t>(next(seed, 2500)));
  }
}

// Two chunks; the caller's waits for the other, which only a worker can run meanwhile.
struct Meeting {
  std::atomic<bool> hasCome{false};
  bool isMet = false;
};

void meetWorker(void *context, long begin, long) {
  Meeting &meeting = *static_cast<Meeting *>(context);
  if (begin > 0) {
    meeting.hasCome.store(true);
    return;
  }
  for (int tenth = 0; tenth < 1000 && !meeting.hasCome.load(); tenth++) usleep(100);
  meeting.isMet = meeting.hasCome.load();
}

void nothing(void *, long, long) {}

// Whether a worker takes part in a job after a pause in which it falls asleep, or while it spins after another job. The system
// may be busy, so one of some tries will do.
bool hasWorker(bool isAsleep) {
  for (int attempt = 0; attempt < 20; attempt++) {
    if (!isAsleep) pool::parallel(nothing, nullptr, 2, 1);
    usleep(isAsleep ? 3000 : 100);
    Meeting meeting;
    pool::parallel(meetWorker, &meeting, 2, 1);
    if (meeting.isMet) return true;
  }
  return false;
}

// A job of as many microseconds as a worker spins before it sleeps, more or less: it falls asleep while the caller is at work.
void work(void *context, long begin, long) {
  const timespec pause{0, begin == 0 ? *static_cast<long *>(context) * 1000 : 0};
  if (begin == 0) nanosleep(&pause, nullptr);
}

void loseNobody() {
  unsigned seed = 5;
  for (int k = 0; k < 1500 && !wrong; k++) {
    long microseconds = 100 + next(seed, 600);
    pool::parallel(work, &microseconds, 2, 1);
    ran.fetch_add(1);
    if (k % 100 != 99 || (hasWorker(true) && hasWorker(false)) || wrong.exchange(true)) continue;
    std::printf("after %d jobs no worker takes part any more\n", k + 1);
  }
}

void forkAndRun() {
  const pid_t child = fork();
  if (child == 0) {
    client(99, 20);
    _exit(wrong || (pool::wanted.load() > 1 && !hasWorker(true)) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 && !wrong.exchange(true)) std::printf("a child failed\n");
  client(3, 5);
}

}  // namespace

int main(int count, char **) {
  for (const int threads : {2, 3, 4, 8, 2, 1, 5}) {
    pool::setThreads(threads);
    std::vector<std::thread> clients;
    for (unsigned i = 0; i < 3; i++) clients.emplace_back(client, i * 17 + static_cast<unsigned>(threads), 200);
    std::thread changes([threads, count] {
      for (int i = 0; i < 20; i++) {
        usleep(700);
        pool::setThreads(1 + (i * 7 + threads) % 6);
        if (count == 1 && i % 2 == 1) forkAndRun();
      }
      pool::setThreads(threads);
    });
    for (std::thread &each : clients) each.join();
    changes.join();
    if (count == 1) forkAndRun();
  }
  pool::setThreads(2);
  loseNobody();
  if (!wrong) std::printf("%ld jobs\n", ran.load());
  return wrong ? 1 : 0;
}
