import type { Int64 } from '@hermod/protocol'
import type { Procedure } from '../../../db/procedure.js'
import { keyText } from '../../../lib/ids/key-text.js'
import {
  type Appended,
  type AppendLimits,
  appendChunk,
  type Chunk,
  type Stream,
  type StreamKey,
} from './stream-model.js'
import {
  appendedRow,
  chunkRow,
  compareStreams,
  insertChunks,
  lockStreams,
  setAppended,
  type StreamRow,
  streamKeyRow,
} from './stream-statements.js'

/** A chunk and its stream. */
export interface Append {
  readonly key: StreamKey
  readonly senderId: Int64
  readonly chunk: Chunk
}

/** Appends of many callers, in their order. */
export interface BatchOfAppends {
  readonly appends: readonly Append[]
  readonly now: number
  readonly limits: AppendLimits
}

/**
 * Stores chunks for many callers in one transaction, as if one after another (rule E19). The output
 * has the outcome of each; null: the sender has no such stream.
 */
export const appendChunks: Procedure<BatchOfAppends, readonly (Appended | null)[]> = {
  module: import.meta.url,
  name: 'appendChunks',
  async run(context, { appends, now, limits }) {
    const keys = new Map(appends.map(({ key }) => [textOf(key), key]))
    const rows = await context.run<StreamRow>(
      lockStreams,
      [...keys.values()].sort(compareStreams).map(streamKeyRow),
    )
    const streams = new Map<string, Stream>(
      rows.map((row) => [keyText(row.appId, row.lowId, row.highId, row.msgId), row]),
    )
    const changed = new Set<string>()
    const stored: unknown[][] = []
    const outcomes = appends.map(({ key, senderId, chunk }) => {
      const name = textOf(key)
      const before = streams.get(name)
      if (before?.senderId !== senderId) return null
      const outcome = appendChunk(before, chunk, { now, limits })
      if (outcome.kind !== 'taken') return outcome
      streams.set(name, outcome.stream)
      changed.add(name)
      // A sign of life has no text, but an index.
      stored.push(chunkRow(key, senderId, chunk))
      return outcome
    })
    return {
      last: [
        {
          statement: setAppended,
          rows: [...changed].map((name) =>
            appendedRow(keys.get(name) as StreamKey, streams.get(name) as Stream),
          ),
        },
        { statement: insertChunks, rows: stored },
      ],
      output: () => outcomes,
    }
  },
}

function textOf({ appId, lowId, highId, messageId }: StreamKey): string {
  return keyText(appId, lowId, highId, messageId)
}
