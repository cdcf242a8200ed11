import { type PushChannel, pushChannels } from '../enums.js'
import { resource } from '../resource.js'
import { int64, type Static, text } from '../schema.js'

/** Push certificate of the contract; what is secret is "" with a user token (rule G6). */
export const PushCertificate = resource(
  'PushCertificate',
  'Credentials of an application at a push gateway.',
  {
    app_id: text('application ID at the gateway'),
    app_key: text('application key at the gateway'),
    app_secret: text('secret; "" unless asked for with an Admin token'),
    certificate: text('certificate; "" unless asked for with an Admin token'),
    name: text('certificate name'),
  },
)
/** What a device needs to register with its gateway. */
export type PushCertificate = Static<typeof PushCertificate>

/** Data of /push/notify. Older clients expected true; the ID is what statistics are asked with. */
export const PushTask = resource('PushTask', 'A push task that was started.', {
  task_id: int64({ description: 'push task ID' }),
})
/** A push task that is on disk. */
export type PushTask = Static<typeof PushTask>

const pushCounts = {
  received: 'delivered count',
  sent: 'sent count',
  target: 'valid target count',
} as const

type PushCounter = `${PushChannel}_${keyof typeof pushCounts}`

const pushCounters = Object.fromEntries(
  pushChannels.flatMap((channel) =>
    Object.entries(pushCounts).map(([count, meaning]) => [
      `${channel}_${count}`,
      int64({ description: `${meaning} of ${channel}` }),
    ]),
  ),
) as Record<PushCounter, ReturnType<typeof int64>>

/**
 * Push task statistics of the contract: three counts for each of {@link pushChannels} (rule G1).
 */
export const PushTaskStatistics = resource(
  'PushTaskStatistics',
  'The counts of a push task on each channel.',
  {
    task_id: int64({ description: 'push task ID' }),
    ...pushCounters,
  },
)
/** Counts of one task, in devices. */
export type PushTaskStatistics = Static<typeof PushTaskStatistics>
