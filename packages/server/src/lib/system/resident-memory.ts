import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const kibibyte = 1_024

/** @returns the resident memory of a process in bytes; null when the process has ended */
export async function residentBytes(pid: number): Promise<number | null> {
  const text =
    process.platform === 'linux'
      ? await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      : await run('ps', ['-o', 'rss=', '-p', String(pid)]).then(
          ({ stdout }) => `VmRSS: ${stdout} kB`,
          () => '',
        )
  const [, kibibytes] = /^VmRSS:\s+(\d+)\s/m.exec(text) ?? []
  return kibibytes === undefined ? null : Number(kibibytes) * kibibyte
}
