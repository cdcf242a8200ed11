/** Figures of processes on Linux; on other systems they are NaN and the lists empty. */
import { readdirSync, readFileSync } from 'node:fs'

// USER_HZ, the kernel's unit for all programs, is 100 on all architectures of Node.
const tickMs = 10

/** Resident memory. */
export function rssBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))
  return match ? Number(match[1]) * 1024 : Number.NaN
}

/** Peak resident memory. */
export function peakRssBytes(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))
  return match ? Number(match[1]) * 1024 : Number.NaN
}

/** User and system time of all threads since the start of the process. */
export function cpuMs(pid: number): number {
  const { utime, stime } = readStat(pid)
  return (utime + stime) * tickMs
}

/** Time of all running threads, to the nanosecond, and of ended children. */
export function cpuMsWithEndedChildren(pid: number): number {
  const { cutime, cstime } = readStat(pid)
  const running = [...threadCpuMs(pid).values()].reduce((sum, ms) => sum + ms, 0)
  return running + (cutime + cstime) * tickMs
}

function readStat(pid: number) {
  return statOf(`/proc/${pid}`)
}

function statOf(folder: string) {
  const stat = read(`${folder}/stat`)
  // The second field is the command in parentheses and may contain spaces; the four are the fields
  // 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [utime = Number.NaN, stime = Number.NaN, cutime = Number.NaN, cstime = Number.NaN] = fields
    .slice(11, 15)
    .map(Number)
  return { utime, stime, cutime, cstime }
}

/** User and system time of each running thread of a process, by the ID of the thread. */
export function threadCpuMs(pid: number): ReadonlyMap<number, number> {
  const folder = `/proc/${pid}/task`
  return new Map(threadsOf(folder).map((id) => [id, threadMs(`${folder}/${id}`)]))
}

function threadsOf(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number)
  } catch {
    return []
  }
}

/** 0 for a thread that has just ended; in ticks where the kernel counts no nanoseconds. */
function threadMs(thread: string): number {
  const [nanoseconds] = read(`${thread}/schedstat`).split(' ')
  if (nanoseconds) return Number(nanoseconds) / 1e6
  const { utime, stime } = statOf(thread)
  return (utime + stime) * tickMs || 0
}

/** Returns the descendants of the process's main thread; parents before their children. */
export function descendants(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return children.flatMap((child) => [child, ...descendants(child)])
}

/** A process that has ended but was not yet waited for counts as ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !/^\d+ \(.*\) Z/s.test(read(`/proc/${pid}/stat`))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
