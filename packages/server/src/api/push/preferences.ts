import {
  addPushTags,
  clearPushTags,
  listPushTags,
  removePushTags,
  setPushAlias,
  setPushBadge,
} from '@hermod/protocol'
import { data, done, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function pushPreferenceHandlers({
  pushPreferences,
}: Pick<HandlerServices, 'pushPreferences'>): Handler[] {
  return [
    handle(setPushAlias, ({ alias, push_token: pushToken = '' }, { principal }) =>
      done(pushPreferences.setAlias(principal, alias, pushToken)),
    ),
    handle(setPushBadge, ({ badge }, { principal }) =>
      done(pushPreferences.setBadge(principal, badge)),
    ),
    handle(listPushTags, async (_, { principal }) =>
      data(await pushPreferences.listTags(principal)),
    ),
    handle(addPushTags, ({ tags }, { principal }) =>
      done(pushPreferences.addTags(principal, tags)),
    ),
    handle(removePushTags, ({ tags }, { principal }) =>
      done(pushPreferences.removeTags(principal, tags)),
    ),
    handle(clearPushTags, (_, { principal }) => done(pushPreferences.clearTags(principal))),
  ]
}
