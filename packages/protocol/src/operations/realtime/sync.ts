import { operation } from '../../operation.js'
import { ChangePage, Log, LogPage, MessageReceipts, SyncPage } from '../../resources/sync.js'
import { boolean, int32, int64, list, object, optional, string } from '../../schema.js'
import { get, id, post } from '../fields.js'

const tag = 'Sync'

/** The key of a log has one form. */
function logViolations(log: Partial<Log> | undefined, path: string): string[] {
  const { low_id: low, high_id: high, is_group: isGroup } = log ?? {}
  if (low === undefined || high === undefined) return []
  if (isGroup) return low === high ? [] : [`${path}.high_id must equal low_id, which is the group`]
  return low <= high ? [] : [`${path}.high_id must not be less than low_id`]
}

/**
 * The one way to catch up after any absence. A page is stored together with its pos.
 * docs/decisions/042-sync.md gives the reasons.
 */
export const syncMessages = operation({
  id: 'message.sync',
  methods: post,
  path: '/message/sync',
  tag,
  summary: 'Answers what a client has missed.',
  description:
    'Without after, with list, or when the client was away for too long: a page of the list of all logs, the newest first. Else the logs that changed after it, at most 200 a page, in the order of their first change. A log that does not fit in 256 KiB loses its messages, never its head. The answer is never older than pos, and may be newer.',
  callers: 'user',
  scopes: ['messages:read'],
  origin: 'extension',
  body: {
    after: optional(
      string({ description: 'pos of the client; absent or "": it has none', maxLength: 128 }),
    ),
    list: optional(boolean({ description: 'true: answers the list', default: false })),
    cursor: optional(
      string({
        description: 'cursor of the page of the list before; absent or "": its first page',
        maxLength: 128,
      }),
    ),
    have: optional(
      list(
        object({
          log: Log,
          change: int64({ description: 'number of the client', minimum: 0 }),
        }),
        {
          description:
            'logs that are answered first and in any case, with all changes above these numbers that fit',
          maxItems: 100,
          'x-look-up': true,
        },
      ),
    ),
    limit: optional(int32({ description: 'how many logs; cut to 200', minimum: 1, default: 100 })),
    window: optional(
      int32({
        description: 'how many newest messages of a log without from; cut to 50',
        minimum: 0,
        default: 20,
      }),
    ),
  },
  data: SyncPage,
  countsForApp: false,
  violationsOf: ({ have }) =>
    Array.isArray(have)
      ? have.flatMap((each: { log?: Partial<Log> } | undefined, index) =>
          logViolations(each?.log, `have[${index}].log`),
        )
      : [],
})

/** Fills a gap in a log (decision page 027). */
export const readChanges = operation({
  id: 'message.changes',
  methods: post,
  path: '/message/changes',
  tag,
  summary: 'Lists the changes of a log after a number.',
  description:
    'By number, first the lowest; at most 100 entries and 256 KiB a page. Each number has an entry, or with the feature changes.skipped is in one of several numbers, up to 500 a page; next is the number of the client after the page.',
  callers: 'user',
  scopes: ['messages:read'],
  origin: 'extension',
  body: {
    log: Log,
    after_change: int64({ description: 'number of the client; 0: none', minimum: 0 }),
    limit: optional(int32({ description: 'how many; cut to 100', minimum: 1, default: 100 })),
  },
  data: ChangePage,
  violationsOf: ({ log }) => logViolations(log as Partial<Log> | undefined, 'log'),
  errors: ['conversation_not_found', 'member_required'],
})

/** Fills a hole in the history that a client holds. */
export const readLogHistory = operation({
  id: 'message.history',
  methods: post,
  path: '/message/history',
  tag,
  summary: 'Lists the messages of a log before a position.',
  description:
    'Newest first; at most 100 and 256 KiB a page. Positions from from_seq to before_seq - 1 that have no message in the page are gone, or hidden from the caller. from_seq is 1 on the last page.',
  callers: 'user',
  scopes: ['messages:read'],
  origin: 'extension',
  body: {
    log: Log,
    before_seq: optional(
      int64({
        description: 'the page has positions below this one; absent or 0: from the newest message',
        minimum: 0,
      }),
    ),
    limit: optional(int32({ description: 'how many; cut to 100', minimum: 1, default: 100 })),
  },
  data: LogPage,
  violationsOf: ({ log }) => logViolations(log as Partial<Log> | undefined, 'log'),
  errors: ['conversation_not_found', 'member_required'],
})

/** Only the sender asks. Reading is cumulative: an acknowledgement of a later message counts. */
export const listReceipts = operation({
  id: 'message.receipts',
  methods: get,
  path: '/message/receipts',
  tag,
  summary: 'Lists who has and who has not read a group message that requested receipts.',
  description:
    'For the sender. In order of user ID, always the whole list: the users of groupMemberList in config. Empty lists for a message that requested no receipts.',
  callers: 'user',
  scopes: ['messages:read'],
  origin: 'extension',
  query: { conversation_id: id('the group'), msg_id: id('message ID') },
  data: MessageReceipts,
  errors: ['group_not_found', 'member_required', 'message_not_found', 'no_permission'],
})
