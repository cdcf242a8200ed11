import { meaningsOf, type PushChannel, pushChannels, pushTaskState } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import { array, int64, intEnum, optional, type Static, stringEnum, text } from '../../schema.js'

/** Push certificate of the contract; secret fields are "" with a user token (rule G6). */
export const PushCertificate = resource(
  'PushCertificate',
  'Credentials of an application at a push gateway.',
  {
    app_id: text('application ID at the gateway'),
    app_key: text('application key at the gateway'),
    app_secret: text('secret; "" unless requested with an Admin token'),
    certificate: text('certificate; "" unless requested with an Admin token'),
    name: text('certificate name'),
  },
)
/** Data that a device needs to register with its gateway. */
export type PushCertificate = Static<typeof PushCertificate>

/** Data of /push/notify. Older clients expected true; statistics are requested with the ID. */
export const PushTask = resource('PushTask', 'A push task that was started.', {
  task_id: int64({ description: 'push task ID' }),
})
/** A stored push task. */
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

/** The counts of a task on one of its channels (rule G1). */
export const PushChannelCounts = resource(
  'PushChannelCounts',
  'The counts of a push task on one channel, in devices.',
  {
    channel: stringEnum(pushChannels, { description: 'channel' }),
    target: int64({ description: 'devices that it is for' }),
    sent: int64({ description: 'devices that the gateway has accepted it for' }),
    received: int64({ description: 'devices that have confirmed it' }),
  },
)
/** Counts on one channel, in devices. */
export type PushChannelCounts = Static<typeof PushChannelCounts>

/** A push task for operators. */
export const PushTaskProgress = resource('PushTaskProgress', 'How far a push task is.', {
  app_id: text('application ID'),
  task_id: int64({ description: 'task ID' }),
  msg_id: int64({ description: 'the message that is pushed; 0: the task was requested' }),
  request_id: text('request ID; "": none'),
  state: intEnum(meaningsOf(pushTaskState), { description: 'how far it is' }),
  audience: text('description of the audience'),
  created_at: instant('when it was made'),
  begins_at: instant('nothing is sent before'),
  expires_at: instant('nothing is sent from then on'),
  estimated_users: optional(
    int64({
      description: 'users of the audience, with or without devices; left out until the push begins',
    }),
  ),
  devices: int64({ description: 'devices of the audience that were reached so far' }),
  finished: int64({ description: 'devices whose delivery has ended' }),
  counts: array(PushChannelCounts, {
    description: 'by channel; channels without a device are left out',
  }),
})
/** State of a task, and its counts. */
export type PushTaskProgress = Static<typeof PushTaskProgress>

/** A page of the tasks of an application. */
export const PushTaskPage = resource('PushTaskPage', 'Some push tasks, newest first.', {
  tasks: array(PushTaskProgress, { description: 'newest first' }),
  next_cursor: text('where the next page starts; "": this was the last one'),
})
/** A page of tasks. */
export type PushTaskPage = Static<typeof PushTaskPage>
