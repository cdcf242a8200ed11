/** A procedure that writes a table which another module writes. It is loaded by the thread of the embedded database too. */
const insertLease = {
  module: import.meta.url,
  table: 'leases',
  columns: { name: 'text', owner: 'text', expires_at: 'bigint' },
}

export const writeLease = {
  module: import.meta.url,
  name: 'writeLease',
  async run(context, row) {
    const count = await context.change(insertLease, [row])
    return { last: [], output: () => count }
  },
}
