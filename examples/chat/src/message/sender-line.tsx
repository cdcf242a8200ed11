import { useUser } from '@hermod/client/react'
import { Avatar } from '../ui/avatar.js'

/** The sender above the first of several messages in a group. */
export function SenderLine({ userId }: { readonly userId: number }) {
  const user = useUser(userId)
  const name = user?.name ?? '…'
  return (
    <p className="sender">
      <Avatar name={name} url={user?.avatar ?? ''} size="small" /> {name}
    </p>
  )
}
