"""The page at `/`: static files in `page/`, written by hand as ES modules, with no framework and no build step.

`store.js` holds what is known and is fed by `/ws`; every view is one file and a function of the store; `api.js` is the only
way to change anything. A new view is a file with `open`, a line in `views.js`, and its words in `words/en.js` and `words/ja.js`.
"""
