import { getApplicationFlags } from '@hermod/protocol'
import type { ApplicationService } from '../../domain/applications/application-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function applicationFlagHandlers({
  applications,
}: {
  readonly applications: ApplicationService
}): Handler[] {
  return [
    handle(getApplicationFlags, async (_, { caller }) => {
      const { settings } = await applications.get(caller.appId)
      return data({
        hide_member_info: settings.hide_member_info,
        message_forward_max_message_num: settings.message_forward_max_message_num,
        message_forward_max_user_num: settings.message_forward_max_user_num,
      })
    }),
  ]
}
