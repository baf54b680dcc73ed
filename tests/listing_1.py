# Multi-Freq-LDPy functions for GRR protocol
# NumPy library
import numpy as np

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator, GRR_Client

# Parameters for simulation
eps = 1  # privacy guarantee
n = int(1e6)  # number of users
k = 5  # attribute's domain size

# Simulation dataset following Uniform distribution
dataset = np.random.randint(k, size=n)

# Simulation of data collection
reports = [GRR_Client(user_data, k, eps) for user_data in dataset]

# Simulation of server-side aggregation
est_freq = GRR_Aggregator(reports, k, eps)
