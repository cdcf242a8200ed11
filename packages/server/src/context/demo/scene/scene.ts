export async function playScene(..._: unknown[]): Promise<void> {}
