import { resource } from '../resource.js'
import { array, int32, int64, optional, type Static, stringEnum, text } from '../schema.js'

/** A message that another one replies to, as much of it as a reader may see (rule E8c). */
export const Quote = resource(
  'Quote',
  'The original of a reply, as far as the caller may see it.',
  {
    msg_id: int64({ description: 'ID of the original' }),
    seq: int64({ description: 'position of the original in the log' }),
    state: stringEnum(['present', 'recalled', 'removed', 'hidden'] as const, {
      description:
        'present; recalled; removed by the retention of the application; hidden: the caller may not see it',
    }),
    sender_id: optional(
      int64({ description: 'sender of a present or recalled original; 0: the system' }),
    ),
    content_type: optional(int32({ description: 'of a present original, as in /message/send' })),
    excerpt: optional(
      text('the first 200 characters of the content of a present original, as last edited'),
    ),
  },
)
/** The original of a reply, from the view of one reader. */
export type Quote = Static<typeof Quote>

/** The member of answers that hold messages. */
export const quotes = optional(
  array(Quote, {
    description:
      'originals of replies in the answer that are not in it themselves; absent without any',
  }),
)
