import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Conversation } from '../model/conversation-model.js'
import { streamState } from '../streams/stream-model.js'
import type { DueStream, StreamStore } from '../streams/stream-store.js'
import type { StreamEnds } from './stream-ends.js'

export interface StreamUpkeepOptions {
  readonly database: Database
  readonly streams: StreamStore
  readonly ends: Pick<StreamEnds, 'interrupt'>
  readonly clock: Clock
  /** The time without an append after which a stream is ended. */
  readonly silentMs: number
  /** The time after which a stream is ended in any case. */
  readonly longestMs: number
  /** The time for which a repeat of the last append is recognized. */
  readonly rememberMs: number
}

/** Streams of one run. */
const streamsPerRun = 200
/** Chunks that one transaction deletes. */
const chunksPerStep = 500

/** Ends streams that are silent or too long, and sweeps the text of those that have ended (rule E19). */
export class StreamUpkeep {
  constructor(private readonly options: StreamUpkeepOptions) {}

  /** @param signal ends it early */
  async run(signal: AbortSignal): Promise<void> {
    const { database, streams, clock } = this.options
    while (!signal.aborted) {
      const now = clock.now()
      const due = await database.read((db) => streams.listDue(db, now, streamsPerRun))
      for (const stream of due) {
        if (signal.aborted) return
        await (stream.state === streamState.open ? this.#look(stream, now) : this.#sweep(stream))
      }
      if (due.length < streamsPerRun) return
    }
  }

  async #look(stream: DueStream, now: number): Promise<void> {
    const { database, streams, ends, silentMs, longestMs } = this.options
    const { startedAt, appendedAt } = stream
    const endsAt = Math.min(appendedAt + silentMs, startedAt + longestMs)
    if (endsAt <= now) await ends.interrupt(conversationOf(stream), stream)
    else await database.transaction((tx) => streams.setDue(tx, stream, endsAt))
  }

  async #sweep(stream: DueStream): Promise<void> {
    const { database, streams, rememberMs, clock } = this.options
    const deleted = await database.transaction((tx) =>
      streams.deleteChunks(tx, stream, chunksPerStep),
    )
    if (deleted === chunksPerStep) return
    const forgetAt = stream.appendedAt + rememberMs
    await database.transaction((tx) =>
      forgetAt <= clock.now() ? streams.delete(tx, stream) : streams.setDue(tx, stream, forgetAt),
    )
  }
}

function conversationOf({ appId, lowId, highId, isGroup }: DueStream): Conversation {
  return { appId, lowId, highId, isGroup }
}
