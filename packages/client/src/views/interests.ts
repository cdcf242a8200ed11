import type { Command, ShownReply } from '../core/inputs.js'
import type { LogKey } from '../model/records.js'
import type { Session } from '../sessions/session.js'

/** The needs of a view while it has listeners; absent: nothing of this kind. */
export interface Interest {
  /** Keys to read, and to read again when they turn stale. */
  readonly reads?: () => Iterable<string>
  /** Users that are shown with their presence. */
  readonly presence?: () => Iterable<number>
  /** Logs on screen. */
  readonly logs?: () => Iterable<LogKey>
  /** Replies that are shown without quotes. */
  readonly quotes?: () => Iterable<ShownReply>
  /** Interests with lower numbers have the first places when the list of presence is full. */
  readonly rank: number
}

/** Collects the needs of the views with listeners, and sends changes to the session. */
export interface Interests {
  /** @returns ends the interest */
  add(interest: Interest): () => void
  /** Called when an interest returns something else. */
  changed(): void
}

/** The most keys that the core keeps current. */
const maxReads = 20_000
/** The most users that the server lets a connection watch. */
const maxWatched = 500

/** Makes the interests of one client. @param caller names the client among all tabs */
export function createInterests(session: Session, caller: string): Interests {
  const interests = new Set<Interest>()
  const sent = { watch: '', presence: '', onScreen: '', quotes: '' }
  let isScheduled = false

  const publish = (command: Command & { readonly type: keyof typeof sent }, list: string) => {
    if (sent[command.type] === list) return
    sent[command.type] = list
    // A client that is closed needs nothing.
    session.execute(command).catch(() => {})
  }
  const flush = () => {
    isScheduled = false
    const ranked = [...interests].sort((a, b) => a.rank - b.rank)
    const reads = new Set<string>()
    const watched = new Set<number>()
    const logs = new Set<LogKey>()
    const replies: ShownReply[] = []
    for (const interest of ranked) {
      for (const each of interest.reads?.() ?? []) reads.add(each)
      for (const each of interest.logs?.() ?? []) logs.add(each)
      replies.push(...(interest.quotes?.() ?? []))
      for (const each of interest.presence?.() ?? []) {
        if (watched.size >= maxWatched) break
        watched.add(each)
      }
    }
    const keys = [...reads].slice(0, maxReads)
    const userIds = [...watched]
    publish({ type: 'watch', caller, keys }, keys.join())
    publish({ type: 'presence', caller, userIds }, userIds.join())
    const names = replies.map(({ log, msgId }) => `${log}/${msgId}`)
    publish({ type: 'quotes', caller, replies }, names.join())
    publish({ type: 'onScreen', caller, logs: [...logs] }, [...logs].join())
  }
  const changed = () => {
    if (isScheduled) return
    isScheduled = true
    // Views that come and go within one turn, as in React's strict mode, change nothing.
    queueMicrotask(flush)
  }
  return {
    add(interest) {
      interests.add(interest)
      changed()
      return () => {
        interests.delete(interest)
        changed()
      }
    },
    changed,
  }
}
