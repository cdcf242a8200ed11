/** Shapes of several operations on the members of a group. */
import type { GroupRightName } from '../../group-rights.js'
import { operation } from '../../operation.js'
import { UserResult } from '../../resources/results.js'
import { array, type TSchema } from '../../schema.js'
import { type deleteOrPost, get, groupAndUsers, post, totals, versionedPage } from '../fields.js'
import { adminErrors, group, memberErrors, type ownerErrors } from './fields.js'

const members = 'Group members'

/** An action on several users of a group, with a result for each. */
export function memberAction<const Id extends string>(definition: {
  readonly id: Id
  readonly path: string
  readonly summary: string
  readonly methods?: typeof post | typeof deleteOrPost
  readonly right: GroupRightName
  readonly errors?: typeof adminErrors | typeof ownerErrors
}) {
  return operation({
    methods: post,
    errors: adminErrors,
    ...definition,
    tag: members,
    callers: 'groupMember',
    scopes: ['groups'],
    body: groupAndUsers,
    data: array(UserResult, { description: 'one result per user' }),
  })
}

/** A paged list of one group. */
export function groupList<const Name extends string, T extends TSchema>(
  name: Name,
  path: string,
  summary: string,
  entry: T,
  right: GroupRightName = 'read',
) {
  return operation({
    id: `group.${name}` as const,
    methods: get,
    path,
    tag: members,
    summary,
    description: 'By user ID, 1,000 a page unless asked otherwise, which is also the most.',
    callers: 'member',
    scopes: ['groups'],
    right,
    query: { ...group, ...versionedPage },
    data: array(entry),
    extras: totals,
    errors: right === 'read' ? memberErrors : adminErrors,
  })
}
