import { useClient, useMembers, useUser } from '@hermod/client/react'

/** The names of the members of a group. */
export function MemberNames({ groupId }: { readonly groupId: number }) {
  const members = useMembers(groupId) ?? []
  return members.map(({ userId }, index) => (
    <span key={userId}>
      {index > 0 && ', '}
      <Name userId={userId} />
    </span>
  ))
}

function Name({ userId }: { readonly userId: number }) {
  const client = useClient()
  const user = useUser(userId)
  return userId === client.userId ? 'you' : (user?.name ?? '…')
}
