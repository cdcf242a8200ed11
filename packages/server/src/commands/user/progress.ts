import type { Writable } from 'node:stream'

/** The progress of a long command: a bar on a terminal, nothing for files and pipes. */
export interface Progress {
  show(done: number, text: string): void
  /** Writes a line that stays. */
  print(line: string): void
  close(): void
}

/** @param total 0 when it is not known */
export async function openProgress(out: Writable, total: number): Promise<Progress> {
  const print = (line: string) => void out.write(`${line}\n`)
  if ((out as { isTTY?: boolean }).isTTY !== true || total === 0)
    return { show: () => {}, print, close: () => {} }
  const { MultiBar, Presets } = await import('cli-progress')
  const bars = new MultiBar(
    {
      stream: out as NodeJS.WriteStream,
      format: '{bar} {percentage}% {text}',
      clearOnComplete: true,
    },
    Presets.legacy,
  )
  const bar = bars.create(total, 0, { text: '' })
  return {
    show: (done, text) => bar.update(done, { text }),
    print: (line) => bars.log(`${line}\n`),
    close: () => bars.stop(),
  }
}
