import { useClient, useUser, useView } from '@hermod/client/react'

/** The names of the members of a group. */
export function MemberNames({ groupId }: { readonly groupId: number }) {
  const members = useView(useClient().groups.group(groupId).members) ?? []
  return members.map(({ user_id }, index) => (
    <span key={user_id}>
      {index > 0 && ', '}
      <Name userId={user_id} />
    </span>
  ))
}

function Name({ userId }: { readonly userId: number }) {
  const client = useClient()
  const user = useUser(userId)
  return userId === client.userId ? 'you' : (user?.name ?? '…')
}
