import { type PushChannel, pushChannels } from '../enums.js'
import { int64, type Static, text } from '../schema.js'
import { resource } from './fields.js'

export const PushCertificate = resource(
  'PushCertificate',
  'What a push gateway asks an application for.',
  {
    app_id: text('application ID at the gateway'),
    app_key: text('application key at the gateway'),
    app_secret: text('secret; "" unless asked for with an Admin token'),
    certificate: text('certificate; "" unless asked for with an Admin token'),
    name: text('certificate name'),
  },
)
export type PushCertificate = Static<typeof PushCertificate>

export const PushTask = resource('PushTask', 'A push task on its way.', {
  task_id: int64({ description: 'push task ID' }),
})
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

export const PushTaskStatistics = resource(
  'PushTaskStatistics',
  'How far a push task got on each channel.',
  {
    task_id: int64({ description: 'push task ID' }),
    ...pushCounters,
  },
)
export type PushTaskStatistics = Static<typeof PushTaskStatistics>
