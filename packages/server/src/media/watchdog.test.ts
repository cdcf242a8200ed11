import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type ConversionLimits, Watchdog } from './watchdog.js'

/** @returns the signal that ends a program, and the exceeded limit */
async function endOf(program: string, limits: ConversionLimits) {
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' })
  using watchdog = new Watchdog(child, limits)
  const [, signal] = await once(child, 'exit')
  return { signal, exceeded: watchdog.exceeded?.message }
}

const mebibyte = 1_048_576
const patient = { timeMs: 60_000, memoryBytes: 4096 * mebibyte }

describe('the watchdog of a conversion', () => {
  it('kills a process that takes too long', async () => {
    expect(await endOf('for (;;) {}', { ...patient, timeMs: 100 })).toEqual({
      signal: 'SIGKILL',
      exceeded: 'converting the file takes too much time',
    })
  })

  it('kills a process that takes too much memory', async () => {
    const program = 'const held = []; setInterval(() => held.push(Buffer.alloc(20e6, 1)), 5)'
    expect(await endOf(program, { ...patient, memoryBytes: 150 * mebibyte })).toEqual({
      signal: 'SIGKILL',
      exceeded: 'converting the file takes too much memory',
    })
  })

  it('leaves a process alone that stays within its limits', async () => {
    expect(await endOf('', patient)).toEqual({ signal: null, exceeded: undefined })
  })
})
