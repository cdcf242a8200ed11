import { useClient } from '@hermod/client/react'
import { useState } from 'react'

/** Finds a user by name and asks to become a contact. */
export function AddContact() {
  const { contacts } = useClient()
  const [answer, setAnswer] = useState('')

  async function add(username: string) {
    const user = await contacts.findByName(username)
    if (user === undefined) return setAnswer(`There is no user ${username}.`)
    await contacts.add(user.id, { reason: 'Hello from the demo' })
    setAnswer(`${user.name} has been asked.`)
  }

  return (
    <form
      className="add-contact"
      action={(data) => {
        const username = String(data.get('username')).trim()
        if (username !== '') add(username).catch((error: Error) => setAnswer(error.message))
      }}
    >
      <input
        name="username"
        aria-label="Username of a new contact"
        placeholder="Username"
        autoComplete="off"
      />
      <button type="submit" className="button">
        Add
      </button>
      <p role="status">{answer}</p>
    </form>
  )
}
