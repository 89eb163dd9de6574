// SPDX-License-Identifier: Apache-2.0
// Conversations in the browser's own database. They leave it only by export.

const kStore = 'conversations';
let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('pawl', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(kStore, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run(mode, action) {
  const db = await database();
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(kStore, mode);
    const request = action(transaction.objectStore(kStore));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

export const load_all = () => run('readonly', (store) => store.getAll());
export const save = (conversation) => run('readwrite', (store) => store.put(conversation));
export const remove = (id) => run('readwrite', (store) => store.delete(id));
