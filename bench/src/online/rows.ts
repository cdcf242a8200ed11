/** Rows of the set `online`: runs of one load on this build, on another one and on a bare server. */
import { type CpuPart, type CpuTimes, cpuParts, mapParts } from '../measure/thread-cpu.js'
import { median, sum } from '../measure/statistics.js'

/** A party on which a load is measured. */
export type Party = 'this' | 'other' | 'bare'

/** The work by which processor time is divided. */
export type Unit = 'message' | 'opening' | 'delivery' | 'second'

/** One run of a load. */
export interface Run {
  /** Work of the measured processor time. */
  readonly count: number
  readonly perSecond: number
  readonly cpu: CpuTimes
  readonly errors: number
  readonly errorSamples?: readonly string[]
  /** Median latency of the answers. */
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** From the send to its event at a device. */
  readonly deliveryP50Ms?: number
  /** Events of a message that arrived. */
  readonly deliveries?: number
}

/** Runs of the same load, one right after another. */
export type Turn = Partial<Readonly<Record<Party, Run>>>

/** Figures of a row on one party, one for each round. */
export interface PartyFigures {
  readonly perSecond: readonly number[]
  /** Microseconds for a unit of work. */
  readonly cpuUs: Readonly<Record<CpuPart | 'all', readonly number[]>>
  readonly p50Ms: readonly number[]
  /** 99th percentiles of the worst turns. */
  readonly p99Ms: readonly number[]
  readonly deliveryP50Ms: readonly number[]
  readonly deliveries: readonly number[]
}

/** Figures of a row. */
export interface RowFigures {
  readonly what: string
  readonly unit: Unit
  readonly parties: Partial<Readonly<Record<Party, PartyFigures>>>
  /** Ratio of the rates of this build to those of another party, as medians of the turns of each round. */
  readonly rateOf: Partial<Readonly<Record<'other' | 'bare', readonly number[]>>>
}

/** A load and its runs so far. */
export class Row {
  readonly #rounds: Turn[][] = []

  constructor(
    readonly what: string,
    readonly unit: Unit,
  ) {}

  add(round: number, turn: Turn): void {
    const turns = this.#rounds[round] ?? []
    turns.push(turn)
    this.#rounds[round] = turns
  }

  get runs(): readonly Run[] {
    return this.#rounds.flat().flatMap((turn) => Object.values(turn))
  }

  /** Returns the ratio of a value of two parties in each round: the median of its turns. */
  ratios(own: Party, of: { readonly row?: Row; readonly party: Party }): number[] {
    const { row = this, party } = of
    return this.#rounds.map((turns, round) =>
      median(
        turns.map(
          (turn, index) => rateOf(turn[own]) / rateOf((row.#rounds[round] ?? [])[index]?.[party]),
        ),
      ),
    )
  }

  figures(): RowFigures {
    const has = (party: Party) => this.#rounds.some(([turn]) => turn?.[party] !== undefined)
    const parties = (['this', 'other', 'bare'] as const).filter(has)
    const others = (['other', 'bare'] as const).filter(has)
    return {
      what: this.what,
      unit: this.unit,
      parties: Object.fromEntries(parties.map((party) => [party, this.#of(party)])),
      rateOf: Object.fromEntries(others.map((party) => [party, this.ratios('this', { party })])),
    }
  }

  #of(party: Party): PartyFigures {
    const rounds = this.#rounds.map((turns) => turns.flatMap((turn) => turn[party] ?? []))
    const cpuUs = (parts: readonly CpuPart[]) =>
      rounds.map(
        (runs) =>
          (sum(runs.flatMap(({ cpu }) => parts.map((part) => cpu[part]))) * 1_000) /
          sum(runs.map(({ count }) => count)),
      )
    const each = (
      value: (run: Run) => number | undefined,
      of: (values: readonly number[]) => number = median,
    ) => rounds.map((runs) => of(runs.map((run) => value(run) ?? Number.NaN)))
    return {
      perSecond: each(({ perSecond }) => perSecond),
      cpuUs: { all: cpuUs(cpuParts), ...mapParts((part) => cpuUs([part])) },
      p50Ms: each(({ p50Ms }) => p50Ms),
      p99Ms: each(
        ({ p99Ms }) => p99Ms,
        (values) => Math.max(...values),
      ),
      deliveryP50Ms: each(({ deliveryP50Ms }) => deliveryP50Ms),
      deliveries: each(({ deliveries }) => deliveries),
    }
  }
}

function rateOf(run: Run | undefined): number {
  return run?.perSecond ?? Number.NaN
}
