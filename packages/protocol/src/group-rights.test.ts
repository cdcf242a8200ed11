import { describe, expect, it } from 'vitest'
import type { ErrorName } from './errors.js'
import { type GroupRight, groupRights, groupRoles, roleErrors } from './group-rights.js'
import { isWholeBody, type Operation } from './operation.js'
import { operations } from './operations/index.js'

/** What is about no group that is there already, by the reason. */
const needsNoRight: Readonly<Record<string, string>> = {
  'group.create': 'the group comes into being by it',
  'group.public_list': 'what is public is for every user',
  'group.user_joined': 'tells users of themselves',
  'group.invitation_list': 'tells users of themselves',
}

const aboutGroups: readonly Operation[] = operations.filter(({ path }) =>
  /^\/(group|app\/qrcode)\//.test(path),
)
const withRights = aboutGroups.flatMap((operation) =>
  operation.right === undefined ? [] : [{ ...operation, right: operation.right }],
)
const takes = ({ query, body }: Operation, name: string) =>
  name in query || (!isWholeBody(body) && name in body)

/** What a call about one group may be told by the right alone. */
function refusals({ from, membersWith, refusal }: GroupRight): ErrorName[] {
  if (from === 'outsider') return []
  if (refusal) return [refusal]
  return membersWith ? [roleErrors.member, roleErrors[from]] : [roleErrors[from]]
}

describe('the rights in a group', () => {
  it('are declared by every operation about a group, except those that need none', () => {
    const without = aboutGroups.filter(({ right }) => right === undefined).map(({ id }) => id)
    expect(without.toSorted()).toEqual(Object.keys(needsNoRight).toSorted())
    expect(aboutGroups.length).toBeGreaterThan(50)
  })

  it('are declared by operations about groups only', () => {
    const elsewhere = operations.filter(
      (operation) => operation.right !== undefined && !aboutGroups.includes(operation),
    )
    expect(elsewhere).toEqual([])
  })

  it('are all in use, recalls and pins by the operations on messages', () => {
    const unused = Object.keys(groupRights).filter(
      (name) => !withRights.some(({ right }) => right === name),
    )
    expect(unused).toEqual(['pin', 'recall'])
  })

  it.each(withRights)('refuse callers of $id with errors that it lists', (operation) => {
    // A list of groups leaves out those that the caller has no right in.
    if (takes(operation, 'group_list')) return expect(operation.errors).toEqual([])
    const definition: GroupRight = groupRights[operation.right]
    // Things that members added are checked one by one once a member is in.
    const expected = definition.ownThings ? [roleErrors.member] : refusals(definition)
    expect(operation.errors).toEqual(expect.arrayContaining(['group_not_found', ...expected]))
  })

  it('open to callers that have the headers for it: what is personal names its user', () => {
    const personal = withRights
      .filter(({ right }) => 'isPersonal' in groupRights[right])
      .map(({ id, callers }) => [id, callers])
    const forUsers = withRights
      .filter(({ callers }) => callers === 'user' || callers === 'groupUser')
      .map(({ id, callers }) => [id, callers])
    expect(personal).toEqual(forUsers)
  })

  it('belong to everybody above the lowest role, and widen only below it', () => {
    for (const [name, { from, membersWith, ownThings }] of Object.entries<GroupRight>(
      groupRights,
    )) {
      expect(groupRoles, name).toContain(from)
      if (membersWith || ownThings) expect(from, name).toBe('admin')
    }
  })
})
