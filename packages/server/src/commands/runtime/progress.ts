import type { Writable } from 'node:stream'
import { printable } from './output.js'

/** The progress of a long command: a bar on a terminal, nothing for files and pipes. */
export interface Progress {
  /** @param total default: as before; 0: not known */
  show(done: number, text: string, total?: number): void
  /** Writes a line that stays. */
  print(line: string): void
  close(): void
}

/** @param total 0 when it is not known */
export async function openProgress(out: Writable, total: number): Promise<Progress> {
  const print = (line: string) => void out.write(`${printable(line)}\n`)
  if ((out as { isTTY?: boolean }).isTTY !== true) return { show: () => {}, print, close: () => {} }
  const { MultiBar, Presets } = await import('cli-progress')
  const bars = new MultiBar(
    {
      stream: out as NodeJS.WriteStream,
      format: '{bar} {percentage}% {text}',
      clearOnComplete: true,
    },
    Presets.legacy,
  )
  // Without a total the bar stays at its beginning; 0 of 0 would be all of it.
  const bar = bars.create(total || 1, 0, { text: '' })
  let known = total
  return {
    show(done, text, newTotal = known) {
      if (newTotal !== known) bar.setTotal(newTotal || 1)
      known = newTotal
      const counted = known === 0 && done > 0 ? `${text} (${done})` : text
      bar.update(known === 0 ? 0 : done, { text: printable(counted) })
    },
    print: (line) => bars.log(`${printable(line)}\n`),
    close: () => bars.stop(),
  }
}
