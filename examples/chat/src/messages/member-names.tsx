import { useMembers } from '@hermod/client/react'
import { UserNames } from '../people/user-name.js'

/** The names of the members of a group. */
export function MemberNames({ groupId }: { readonly groupId: number }) {
  const members = useMembers(groupId) ?? []
  return <UserNames userIds={members.map(({ userId }) => userId)} />
}
