import { useClient, useConnection, useView } from '@hermod/client/react'
import { Avatar } from '../ui/avatar.js'
import { connectionText } from './connection-text.js'

/** The own name, the state of the connection, and the switch that ends the connection. */
export function AccountBar({ name }: { readonly name: string }) {
  const client = useClient()
  const status = useConnection()
  const profile = useView(client.profile)
  const isWanted = status.state !== 'idle' && status.state !== 'ended'
  return (
    <header className="account-bar">
      <Avatar name={name} url={profile?.avatar ?? ''} />
      <div className="account-text">
        <h2>{name}</h2>
        <p className="connection" data-state={status.state} role="status">
          {connectionText(status)}
        </p>
      </div>
      <button
        type="button"
        role="switch"
        className="switch"
        aria-checked={isWanted}
        aria-label={`Connection of ${name}`}
        title={isWanted ? 'Go offline' : 'Go online'}
        onClick={() => {
          if (isWanted) client.disconnect()
          // The text next to the switch shows a failure.
          else client.connect().catch(() => {})
        }}
      />
    </header>
  )
}
