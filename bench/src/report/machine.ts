import { statfsSync } from 'node:fs'
import { cpus, release, tmpdir, totalmem, type } from 'node:os'
import { findPostgres } from '@hermod/testkit'

/** The machine of the measurement. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly system: string
  readonly node: string
  /** Null: not found. */
  readonly postgres: string | null
  /** The data is in memory, so the figures do not cover durable writes. */
  readonly dataInMemory: boolean
}

const tmpfsType = 0x01021994

/** Reads the properties of this machine. */
export function describeMachine(): Machine {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.version,
    postgres: findPostgres()?.version ?? null,
    dataInMemory: statfsSync(tmpdir()).type === tmpfsType,
  }
}
