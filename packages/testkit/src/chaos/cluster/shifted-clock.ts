/**
 * A preloaded module (`node --import`) that shifts the clock of a process by as many milliseconds as
 * the file of CHAOS_CLOCK says. The file may change: the clock then jumps.
 */
import { readFileSync } from 'node:fs'

const path = process.env.CHAOS_CLOCK
const everyMs = 100

if (path !== undefined) {
  const now = Date.now
  let offsetMs = 0
  const read = () => {
    try {
      offsetMs = Number(readFileSync(path, 'utf8')) || 0
    } catch {
      // The file is being written.
    }
  }
  read()
  setInterval(read, everyMs).unref()
  Date.now = () => now() + offsetMs
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
  })
}
