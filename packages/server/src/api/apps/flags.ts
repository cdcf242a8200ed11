import { featureNames, getAppFlags } from '@hermod/protocol'
import type { AppService } from '../../domain/apps/app-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function appFlagHandlers({ apps }: { readonly apps: AppService }): Handler[] {
  return [
    handle(getAppFlags, async (_, { principal }) => {
      const { settings } = await apps.get(principal.appId)
      return data({
        hide_member_info: settings.hide_member_info,
        message_forward_max_message_num: settings.message_forward_max_message_num,
        message_forward_max_user_num: settings.message_forward_max_user_num,
        features: [...featureNames],
      })
    }),
  ]
}
