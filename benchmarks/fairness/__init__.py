"""Fairness: do intervals of gaps cover, do tests keep their level, do linear programmes close gaps on tasks unseen?"""
