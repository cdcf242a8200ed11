import { type PushTaskProgress, pushChannels } from '@hermod/protocol'
import type { TaskProgress } from '../../domain/push/tasks/task-model.js'
import { describeAudience } from '../../domain/push/trace/audience-description.js'

/** A task as operators and traces show it. */
export function toTaskProgress({ task, counts }: TaskProgress): PushTaskProgress {
  return {
    app_id: task.appId,
    task_id: task.taskId,
    msg_id: task.msgId,
    request_id: task.requestId,
    state: task.state,
    audience: describeAudience(task.content.audience),
    created_at: task.createdAt,
    begins_at: task.beginsAt,
    expires_at: task.expiresAt,
    ...(task.estimatedUsers !== null && { estimated_users: task.estimatedUsers }),
    devices: task.devices,
    finished: task.finished,
    counts: pushChannels.flatMap((channel) =>
      counts
        .filter((each) => each.channel === channel)
        .map(({ target, sent, received }) => ({ channel, target, sent, received })),
    ),
  }
}
