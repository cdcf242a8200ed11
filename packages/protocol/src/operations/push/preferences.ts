import { operation } from '../../operation.js'
import { array, int32, list, optional, string, text } from '../../schema.js'
import { done, get, post, pushAlias, pushToken } from '../fields.js'

const tag = 'User settings'

/**
 * One user at a time holds an alias (12008); the user's own alias is replaced. push_token, when
 * sent, must be of one of the user's devices (12009). Rule G7.
 */
export const setPushAlias = operation({
  id: 'user.push.alias.update',
  methods: post,
  path: '/user/push/alias',
  tag,
  summary: 'Binds a push alias to the user.',
  callers: 'user',
  scopes: ['users:write'],
  body: { alias: pushAlias, push_token: optional(pushToken) },
  data: done,
  errors: ['push_alias_taken', 'push_token_mismatch'],
})

/** Later pushes count from it. */
export const setPushBadge = operation({
  id: 'user.push.badge.update',
  methods: post,
  path: '/user/push/badge',
  tag,
  summary: 'Sets the badge number.',
  callers: 'user',
  scopes: ['users:write'],
  body: { badge: int32({ description: 'badge number', minimum: 0 }) },
  data: done,
})

const tagList = list(string({ minLength: 1, maxLength: 64 }), {
  description: 'tags of 1 to 64 characters; a user has at most 100',
  minItems: 1,
})

/** In the order of their UTF-16 code units, the same on every database. */
export const listPushTags = operation({
  id: 'user.push.tag.list',
  methods: get,
  path: '/user/push/tag',
  tag,
  summary: 'Lists the push tags of the user.',
  description: 'In the order of their UTF-16 code units, always the whole list: at most 100.',
  callers: 'user',
  scopes: ['users:read'],
  data: array(text('tag')),
})

/** All of them or none. Existing tags are skipped. Rule G7. */
export const addPushTags = operation({
  id: 'user.push.tag.add',
  methods: post,
  path: '/user/push/tag',
  tag,
  summary: 'Adds push tags to the user.',
  callers: 'user',
  scopes: ['users:write'],
  body: { tags: tagList },
  data: done,
  errors: ['push_tag_limit_reached'],
})

/** Unknown tags are skipped. */
export const removePushTags = operation({
  id: 'user.push.tag.remove',
  methods: ['DELETE'],
  path: '/user/push/tag',
  tag,
  summary: 'Removes push tags of the user.',
  callers: 'user',
  scopes: ['users:write'],
  body: { tags: tagList },
  data: done,
})

/** Safe to repeat. */
export const clearPushTags = operation({
  id: 'user.push.tag.clear',
  methods: ['DELETE'],
  path: '/user/push/tag/all',
  tag,
  summary: 'Removes all push tags of the user.',
  callers: 'user',
  scopes: ['users:write'],
  data: done,
})
