import { finishRestore, getRestoreStatus } from '@hermod/protocol'
import type { RestoreService, RestoreStatus } from '../../domain/restore/restore-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function restoreHandlers({ restores }: { readonly restores: RestoreService }): Handler[] {
  return [
    handle(getRestoreStatus, async () => data(toStatus(await restores.status()))),
    handle(finishRestore, async ({ end_logins: endsLogins = false }) => {
      const finished = await restores.finish({ endsLogins })
      return data({
        ...toStatus(finished),
        ended_message_pushes: finished.endedMessagePushes,
        ended_core_pushes: finished.endedCorePushes,
        ended_user_tokens: finished.endedUserTokens,
        repeated_erasures: finished.erasures.repeated,
        unreadable_erasures: finished.erasures.unreadable,
      })
    }),
  ]
}

function toStatus(status: RestoreStatus) {
  return {
    restored: status.isRestored,
    newest_msg_id: status.newestMessageId,
    newest_message_at: status.newestMessageAt,
    webhook_events: status.unsentEvents.map(({ appId, count, oldestAt }) => ({
      app_id: appId,
      count,
      oldest_at: oldestAt,
    })),
    pushes: status.unfinishedPushes.count,
    oldest_push_at: status.unfinishedPushes.oldestAt,
    user_tokens: status.validUserTokens,
    admin_tokens: status.validAdminTokens,
  }
}
