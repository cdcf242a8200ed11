import { getAppFlags } from '@hermod/protocol'
import { data, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function appFlagHandlers({ apps }: Pick<HandlerServices, 'apps'>): Handler[] {
  return [
    handle(getAppFlags, async (_, { principal }) => {
      const { settings } = await apps.get(principal.appId)
      return data({
        hide_member_info: settings.hide_member_info,
        message_forward_max_message_num: settings.message_forward_max_message_num,
        message_forward_max_user_num: settings.message_forward_max_user_num,
      })
    }),
  ]
}
