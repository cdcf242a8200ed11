import { useClient, useContacts } from '@hermod/client/react'
import { useRef } from 'react'
import { Icon } from '../ui/icon.js'
import { useAttempt } from '../ui/notice.js'

/** A button and the dialog behind it, which makes a group of contacts. */
export function NewGroup({ onCreated }: { onCreated(groupId: number): void }) {
  const client = useClient()
  const attempt = useAttempt()
  const contacts = useContacts() ?? []
  const dialog = useRef<HTMLDialogElement>(null)

  async function create(data: FormData) {
    const name = String(data.get('name')).trim()
    const userIds = data.getAll('member').map(Number)
    const id = await client.groups.create({ name, userIds })
    dialog.current?.close()
    onCreated(id)
  }

  return (
    <>
      <button type="button" className="new-group" onClick={() => dialog.current?.showModal()}>
        <Icon name="plus" /> New group
      </button>
      <dialog ref={dialog} className="dialog" aria-label="New group">
        <form action={(data) => attempt(create(data))}>
          <h2>New group</h2>
          <input
            name="name"
            required
            maxLength={40}
            aria-label="Name of the group"
            placeholder="Name"
          />
          <fieldset>
            <legend>Members</legend>
            {contacts.map(({ id, name }) => (
              <label key={id}>
                <input type="checkbox" name="member" value={id} /> {name}
              </label>
            ))}
          </fieldset>
          <div className="dialog-buttons">
            <button type="button" className="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" className="button primary">
              Create
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}
