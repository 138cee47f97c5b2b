"""A receiver for starling's notify.url: it tells people by Web Push what is new while the page is closed."""
