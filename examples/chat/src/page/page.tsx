import { useState } from 'react'
import type { DemoSession } from '../session.js'
import { Side } from '../side/side.js'
import { NodeBar } from './node-bar.js'
import { ThemeSwitch } from './theme-switch.js'
import { useNodes } from './use-nodes.js'

/** The page: a header, and the chat of each user next to the other. */
export function Page({ session }: { readonly session: DemoSession }) {
  // Narrow windows show one side at a time.
  const [shown, setShown] = useState(0)
  const nodes = useNodes(session.hasNodes === true)
  return (
    <>
      <header className="page-header">
        <h1>
          <img src="demo/icon.svg" alt="" width="24" height="24" /> Hermod <span>demo</span>
        </h1>
        <fieldset className="side-tabs" aria-label="Shown user">
          {session.users.map(({ userId, name }, index) => (
            <button
              key={userId}
              type="button"
              aria-pressed={index === shown}
              onClick={() => setShown(index)}
            >
              {name}
            </button>
          ))}
        </fieldset>
        <ThemeSwitch />
      </header>
      <main className="sides">
        {session.users.map((user, index) => (
          <Side key={user.userId} user={user} appId={session.appId} isShown={index === shown}>
            {nodes && <NodeBar side={index} nodes={nodes} />}
          </Side>
        ))}
      </main>
    </>
  )
}
