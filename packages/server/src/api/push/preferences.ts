import {
  addPushTags,
  clearPushTags,
  listPushTags,
  removePushTags,
  setPushAlias,
  setPushBadge,
} from '@hermod/protocol'
import type { PushPreferenceService } from '../../domain/push/preferences/push-preference-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function pushPreferenceHandlers({
  pushPreferences,
}: {
  readonly pushPreferences: PushPreferenceService
}): Handler[] {
  return [
    handle(setPushAlias, ({ alias, push_token: pushToken = '' }, { principal }) =>
      whenDone(pushPreferences.setAlias(principal, alias, pushToken)),
    ),
    handle(setPushBadge, ({ badge }, { principal }) =>
      whenDone(pushPreferences.setBadge(principal, badge)),
    ),
    handle(listPushTags, async (_, { principal }) =>
      data(await pushPreferences.listTags(principal)),
    ),
    handle(addPushTags, ({ tags }, { principal }) =>
      whenDone(pushPreferences.addTags(principal, tags)),
    ),
    handle(removePushTags, ({ tags }, { principal }) =>
      whenDone(pushPreferences.removeTags(principal, tags)),
    ),
    handle(clearPushTags, (_, { principal }) => whenDone(pushPreferences.clearTags(principal))),
  ]
}
