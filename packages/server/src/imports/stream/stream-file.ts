import { setImmediate as nextTurn } from 'node:timers/promises'
import { readItems } from '../item-file.js'
import { mapItem } from './stream-mapper.js'
import type { LeftOutCount, LeftOutSample, StreamStaging } from './stream-staging.js'

/** The contents of a file, and what of it is imported. */
export interface StreamSummary {
  /** Items by type. */
  readonly in: Readonly<Record<string, number>>
  /** The counts of the rows that they become. */
  readonly mapped: {
    readonly users: number
    readonly groups: number
    readonly direct_conversations: number
    readonly members: number
    readonly messages: number
    readonly replies: number
    readonly reactions: number
    readonly pins: number
  }
  readonly left_out: readonly LeftOutCount[]
  /** The items that something is wrong with. */
  readonly faults: number
  /** The members of items that are not imported. */
  readonly notes: readonly { readonly note: string; readonly count: number }[]
  readonly samples: readonly LeftOutSample[]
}

const samples = 20
const itemsPerTurn = 2_000

interface StageOptions {
  readonly input: AsyncIterable<Buffer>
  /** The name of the file in failures. */
  readonly name: string
  readonly signal: AbortSignal
  /** Milliseconds since 1970. */
  readonly now: number
  /** The greatest size of a message in the service. */
  readonly maxMessageBytes: number
  progress(text: string): void
}

/**
 * Reads a whole file into the staging.
 * @throws ImportFileError for a file of another form
 */
export async function stageFile(
  staging: StreamStaging,
  { input, name, signal, now, maxMessageBytes, progress }: StageOptions,
): Promise<StreamSummary> {
  let items = 0
  const options = { now: now * 1000, maxMessageBytes }
  for await (const read of readItems(input, name)) {
    if ('problem' in read) staging.add(read.line, { type: 'item', fault: read.problem })
    else staging.add(read.line, mapItem(read.item, options))
    if (++items % itemsPerTurn !== 0) continue
    signal.throwIfAborted()
    progress(`${items} items read`)
  }
  await staging.relate(async (text) => {
    signal.throwIfAborted()
    progress(text)
    await nextTurn()
  })
  return summaryOf(staging)
}

/** Returns what the staging has now. */
export function summaryOf(staging: StreamStaging): StreamSummary {
  const count = (what: string) => staging.number(`select count(*) from ${what}`)
  const leftOut = staging.leftOut()
  const isFault = leftOut.filter(({ is_fault }) => is_fault)
  return {
    in: staging.counts,
    mapped: {
      users: count('users'),
      groups: count('channels where low is null'),
      direct_conversations: count(
        `(select distinct conv from channels where conv like 'direct %')`,
      ),
      members: count('members'),
      messages: count('sorted'),
      replies: count(`sorted where original <> ''`),
      reactions: count('reactions'),
      pins: count('sorted where pinned_at > 0'),
    },
    left_out: leftOut,
    faults: isFault.reduce((sum, { count }) => sum + count, 0),
    notes: staging.notes,
    samples: staging.samples(samples),
  }
}
