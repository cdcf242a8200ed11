import { useClient, useUser } from '@hermod/client/react'

/** The name of a user; `you` for the own one. */
export function UserName({ userId }: { readonly userId: number }) {
  const client = useClient()
  const user = useUser(userId)
  return userId === client.userId ? 'you' : (user?.name ?? '…')
}

interface UserNamesProps {
  readonly userIds: readonly number[]
  /** Users whose IDs are not known. */
  readonly more?: number
}

/** The names of several users, divided by commas. */
export function UserNames({ userIds, more = 0 }: UserNamesProps) {
  return (
    <>
      {userIds.map((userId, index) => (
        <span key={userId}>
          {index > 0 && ', '}
          <UserName userId={userId} />
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}
